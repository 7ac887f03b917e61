// Test helper: runs a few lines of PTX as a kernel under the interpreter and gives its output buffer.
//
//   PtxHarness h;
//   h.run("add.u32 %r1, %tid_x, 1; st.global.u32 [%out], %r1;");   // 32 threads
//   EXPECT_EQ(h.out[5], 6u);
//
// Registers ready for use: %p0.. %h0.. (16 bits) %r0.. %rd0.. %f0.. %fd0..; %out is the thread's own 64-byte place
// in the output (16 words a thread), %outbase its start, %in the input buffer, %tid_x a copy of %tid.x, %n the parameter n.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "isa/exec/interpreter.h"
#include "isa/exec/memory.h"

namespace tcsim::isa {

struct PtxHarness {
  static constexpr uint32_t kWords = 16;  // output words a thread
  Dim3 grid{1, 1, 1}, block{32, 1, 1}, cluster{1, 1, 1};
  uint32_t n = 0, dynamic_smem = 0;
  std::string target = "sm_80", version = "8.4", globals;
  std::vector<uint32_t> in = std::vector<uint32_t>(256, 0);
  bool poison_in = false;
  InterpreterOptions options;
  Generation generation = Generation::ampere;

  std::vector<uint32_t> out;
  Diagnostics diags;
  InterpreterResult result;

  std::string text(const std::string& body) const {
    return fmt::format(".version {}\n.target {}\n.address_size 64\n{}", version, target, globals) +
           "\n.visible .entry k(.param .u64 p_out, .param .u64 p_in, .param .u32 p_n)\n{\n"
           ".reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<32>; .reg .f64 %fd<16>;\n"
           ".reg .b64 %out, %outbase, %in; .reg .b32 %tid_x, %n, %global_id;\n"
           "ld.param.u64 %outbase, [p_out]; ld.param.u64 %in, [p_in]; ld.param.u32 %n, [p_n];\n"
           "mov.u32 %tid_x, %tid.x; mov.u32 %r62, %ctaid.x; mov.u32 %r63, %ntid.x; mad.lo.u32 %global_id, %r62, %r63, %tid_x;\n"
           "mul.wide.u32 %out, %global_id, 64; add.u64 %out, %out, %outbase;\n" +
           body + "\nret;\n}\n";
  }

  /// Runs the body. Check ok() or diags afterwards.
  void run(const std::string& body) {
    diags = {};
    out.clear();
    result = {};
    auto module = load_module("test.ptx", text(body), diags);
    if (!module || diags.has_errors()) return;
    GlobalMemory memory;
    bind_globals(*module, memory);
    const Kernel* kernel = module->find_kernel("k");
    ASSERT_NE(kernel, nullptr);
    const uint64_t threads = grid.count() * block.count();
    const uint64_t out_address = memory.allocate("out", threads * kWords * 4);
    const uint64_t in_address = memory.allocate("in", in.size() * 4, 256, poison_in);
    if (!poison_in) std::memcpy(memory.map(in_address, in.size() * 4), in.data(), in.size() * 4);
    LaunchInfo launch;
    launch.grid = grid;
    launch.block = block;
    launch.cluster = cluster;
    launch.dynamic_smem_bytes = dynamic_smem;
    launch.generation = static_cast<uint8_t>(generation);
    launch.params.resize(kernel->param_bytes);
    launch.constants = module->constant_bytes;
    std::memcpy(launch.params.data() + kernel->params[0].offset, &out_address, 8);
    std::memcpy(launch.params.data() + kernel->params[1].offset, &in_address, 8);
    std::memcpy(launch.params.data() + kernel->params[2].offset, &n, 4);
    result = interpret(*module, *kernel, launch, memory, options, diags);
    out.resize(threads * kWords);
    std::memcpy(out.data(), memory.map(out_address, out.size() * 4), out.size() * 4);
    std::memcpy(in.data(), memory.map(in_address, in.size() * 4), in.size() * 4);
  }

  std::string messages() const {
    std::string all;
    for (const Diagnostic& d : diags.all()) all += fmt::format("[{}] {}\n", d.kind, d.str());
    return all;
  }
  bool ok() const { return result.ok && !diags.has_errors(); }
  /// Word w of a thread's output.
  uint32_t at(size_t thread, size_t w = 0) const { return out.at(thread * kWords + w); }
};

}  // namespace tcsim::isa
