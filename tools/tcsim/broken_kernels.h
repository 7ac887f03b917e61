// For tests: a generated Hopper GEMM, whole or broken in one place, with its launch, and what a run of it says.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "isa/exec/interpreter.h"
#include "isa/layout/tensor_map.h"
#include "isa/ptx/module.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

using gemm::Fault;

/// 128 x 128 x 512 in one CTA: 8 tiles of K through 2 stages.
inline gemm::Config hopper_config(const std::string& style, Fault fault = Fault::none) {
  gemm::Config config;
  config.m = config.n = 128;
  config.k = 512;
  config.style = style;
  config.tile = {128, 128, 64};
  config.stages = 2;
  config.fault = fault;
  return config;
}

inline std::string text_of(const Diagnostics& diags) {
  std::string out;
  for (const Diagnostic& d : diags.all()) out += d.kind + ": " + d.str() + "\n";
  return out;
}

/// The kernel, its parameters, and buffers of f16 whose values depend on the place.
class HopperCase {
 public:
  explicit HopperCase(const gemm::Config& config) : program(gemm::generate(config, diags)) {
    module = isa::load_module("k.ptx", program.ptx, diags);
    EXPECT_TRUE(module && diags.all().empty()) << text_of(diags);
    const isa::Kernel& kernel = *module->find_kernel(program.entry);
    const auto dim = [](const std::array<uint32_t, 3>& d) { return isa::Dim3{d[0], d[1], d[2]}; };
    launch.grid = dim(program.grid);
    launch.block = dim(program.block);
    launch.cluster = dim(program.cluster);
    launch.dynamic_smem_bytes = program.dynamic_smem_bytes;
    launch.params.resize(kernel.param_bytes);
    for (size_t i = 0; i < program.tensor_maps.size(); ++i) add_map(program.tensor_maps[i], kernel.params[i].offset);
    if (program.tensor_maps.size() < 3) {  // C by its pointer
      const uint64_t c = memory.allocate("C", uint64_t{config.m} * config.n * 2);
      std::memcpy(launch.params.data() + kernel.params[2].offset, &c, sizeof c);
    }
    const uint32_t sizes[] = {config.m, config.n, config.k};
    for (size_t i = 0; i < 3; ++i) std::memcpy(launch.params.data() + kernel.params[3 + i].offset, &sizes[i], 4);
  }

  const isa::Kernel& kernel() const { return *module->find_kernel(program.entry); }
  /// C as it is now.
  std::vector<uint8_t> result() const { return memory.allocations().back()->data; }
  void interpret(isa::AsyncOrder order, uint64_t seed = 1) {
    isa::InterpreterOptions options;
    options.order = order;
    options.seed = seed;
    isa::interpret(*module, kernel(), launch, memory, options, diags);
  }
  /// The PTX line of a diagnostic.
  std::string line_of(const Diagnostic& d) const {
    size_t from = 0;
    for (uint32_t n = 1; n < d.place.line; ++n) from = program.ptx.find('\n', from) + 1;
    return program.ptx.substr(from, program.ptx.find('\n', from) - from);
  }

  Diagnostics diags;
  gemm::Program program;
  std::unique_ptr<isa::Module> module;
  isa::LaunchInfo launch;
  isa::GlobalMemory memory;

 private:
  void add_map(const gemm::TensorMap& from, uint32_t offset) {
    const uint64_t bytes = from.stride_bytes * from.dims[1];
    isa::TensorMap map;
    map.rank = 2;
    map.type = isa::TensorMap::Type::f16;
    map.address = memory.allocate(from.buffer, bytes);
    for (size_t d = 0; d < 2; ++d) {
      map.dims[d] = from.dims[d];
      map.box[d] = from.box[d];
    }
    map.strides[0] = from.stride_bytes;
    map.swizzle = from.swizzle == "128B" ? isa::TensorMap::Swizzling::b128 : isa::TensorMap::Swizzling::none;
    const isa::TensorMapBytes encoded = map.encode();
    std::memcpy(launch.params.data() + offset, encoded.data(), encoded.size());
    if (from.buffer == "C") return;
    auto* values = reinterpret_cast<uint16_t*>(memory.map(map.address, bytes));
    // Small integers and halves in f16: sums are exact.
    for (uint64_t i = 0; i < bytes / 2; ++i) values[i] = static_cast<uint16_t>(0x3c00 + ((i * 7 + i / 61) % 4 << 8));
  }
};

}  // namespace tcsim::tool
