// tcsim run through the built program: launch templates, Triton folders, sequences, symbols, dumps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using testing::HasSubstr;

// data[i] = scale * data[i] + bias: scale from .const, bias through a pointer held in a .global variable.
const std::string kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.const .align 4 .u32 scale = 3;
.global .align 8 .u64 bias;
.visible .entry scale_add(.param .u64 .ptr .global .align 4 data)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  ld.const.u32 %r3, [scale];
  ld.global.u64 %rd4, [bias];
  ld.global.u32 %r4, [%rd4];
  mad.lo.s32 %r5, %r2, %r3, %r4;
  st.global.u32 [%rd3], %r5;
  ret;
}
.visible .entry clear(.param .u64 .ptr .global .align 4 data)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, 0;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

const std::string kBuffers = R"([symbol.bias]
buffer = "B"
[buffer.A]
dtype = "s32"
shape = [32]
init = "iota"
[buffer.B]
dtype = "s32"
shape = [1]
init = "file:b.bin"
)";

std::string launch_table(const char* entry) {
  return fmt::format("[[launch]]\nentry = \"{}\"\ngrid = [1]\nblock = [32]\nargs = [{{ buffer = \"A\" }}]\n", entry);
}

int32_t word(const std::string& bytes, size_t index) {
  int32_t out = 0;
  if (bytes.size() >= 4 * index + 4) bytes.copy(reinterpret_cast<char*>(&out), 4, 4 * index);
  return out;
}

TEST(Run, SymbolsAndSequences) {
  const Sandbox box;
  box.write("k.ptx", kKernel);
  box.write("b.bin", std::string("\7\0\0\0", 4));
  box.write("once.toml", launch_table("scale_add") + kBuffers);
  EXPECT_EQ(box.run("run k.ptx --launch once.toml --mode functional --quiet --dump A=a.bin").code, 0);
  EXPECT_EQ(word(box.read("a.bin"), 5), 5 * 3 + 7);

  box.write("twice.toml", launch_table("clear") + launch_table("scale_add") + kBuffers + "[symbol.scale]\nbytes = \"05000000\"\n");
  EXPECT_EQ(box.run("run k.ptx --launch twice.toml --mode functional --quiet --dump A=a.npy --json r.json").code, 0);
  const std::string npy = box.read("a.npy");
  ASSERT_EQ(npy.size(), 128u + 128u);
  EXPECT_THAT(npy.substr(0, 128), HasSubstr("'descr': '<i4', 'fortran_order': False, 'shape': (32,), "));
  EXPECT_EQ(word(npy.substr(128), 5), 7);
  const auto json = nlohmann::json::parse(box.read("r.json"));
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(json[0]["kernel"], "clear");
  EXPECT_EQ(json[1]["kernel"], "scale_add");
}

TEST(Run, EntryMustBeChosen) {
  const Sandbox box;
  box.write("k.ptx", kKernel);
  box.write("b.bin", std::string(4, '\0'));
  box.write("l.toml", "grid = [1]\nblock = [32]\nargs = [{ buffer = \"A\" }]\n" + kBuffers);
  const Outcome none = box.run("run k.ptx --launch l.toml --mode functional");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("'k.ptx' has 2 kernels, 'entry' must choose one of scale_add clear"));
  EXPECT_EQ(box.run("run k.ptx --launch l.toml --mode functional --entry clear").code, 0);
}

TEST(Run, TemplateIsALaunchFile) {
  const Sandbox box;
  const std::string kernel = TCSIM_SOURCE_DIR "/workloads/triton/mma_128x128x32_s3_w4.ptx";
  const Outcome printed = box.run("run " + kernel);
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("11 parameters"));
  EXPECT_THAT(printed.out, HasSubstr("block = [128, 1, 1]"));
  EXPECT_THAT(printed.out, HasSubstr("{ i32 = 0 },  # gemm_ptr_param_3 (.u32, 4 B)"));
  // Filled in as printed it fits the kernel; M = N = K = 0 stores one tile of zeros to C, and needs the
  // shared memory.
  box.write("l.toml", printed.out);
  const Outcome run = box.run("run " + kernel + " --launch l.toml --mode functional");
  EXPECT_EQ(run.err.find("launch-mismatch"), std::string::npos);
  EXPECT_NE(run.code, 1) << run.err;
  EXPECT_NE(run.code, 2) << run.err;
}

TEST(Run, TritonCacheFolder) {
  const Sandbox box;
  std::string ptx = kKernel;
  box.write("cache/scale_add.ptx", ptx);
  // The keys of Triton 3.x's metadata that a launch needs.
  box.write("cache/scale_add.json",
            R"({"hash": "ab", "target": {"backend": "cuda", "arch": 80, "warp_size": 32}, "num_warps": 2, "num_ctas": 1,
                                        "cluster_dims": [1, 1, 1], "shared": 1024, "name": "scale_add", "maxnreg": null})");
  const Outcome printed = box.run("run cache --entry scale_add");
  EXPECT_THAT(printed.out, HasSubstr("block = [64, 1, 1]"));
  EXPECT_THAT(printed.out, HasSubstr("dynamic_smem_bytes = 1024"));
  box.write("b.bin", std::string("\7\0\0\0", 4));
  std::string launch = "grid = [1]\nargs = [{ buffer = \"A\" }]\n" + kBuffers;
  launch.replace(launch.find("[32]"), 4, "[64]");
  box.write("l.toml", launch);
  EXPECT_EQ(box.run("run cache --launch l.toml --mode functional --quiet --dump A=a.bin --json r.json").code, 0);
  EXPECT_EQ(word(box.read("a.bin"), 63), 63 * 3 + 7);
  EXPECT_EQ(nlohmann::json::parse(box.read("r.json"))["launch"]["dynamic_smem_bytes"], 1024);
}

TEST(Run, GemmOfEveryStyle) {
  const Sandbox box;
  for (const char* style :
       {"simt --tile 64x64x8 --stages 1 --dtype f32", "wmma --tile 64x64x32 --stages 1", "ampere --tile 64x64x32 --stages 3 --swizzle xor",
        "ampere --tile 64x64x32 --stages 2 --swizzle padded --dtype bf16", "ampere --tile 64x64x64 --stages 2 --dtype s8 --acc s32"}) {
    const Outcome outcome = box.run(std::string("gemm -m 128 -n 128 -k 128 --mode functional --style ") + style + " --emit-ptx g.ptx --json r.json");
    EXPECT_EQ(outcome.code, 0) << style << "\n" << outcome.err;
    if (outcome.code != 0) continue;
    EXPECT_TRUE(nlohmann::json::parse(box.read("r.json"))["check"]["passed"].get<bool>());
    EXPECT_EQ(box.run("run g.ptx --launch g.ptx.toml --mode functional").code, 0) << style;
  }
}

// Turing's own shapes and ldmatrix, on a Turing; the machine says that no vector confirms its f16 sums. The Ampere kernel is refused.
TEST(Run, TuringKernelsOnT4) {
  const Sandbox box;
  const std::string cuda = TCSIM_SOURCE_DIR "/workloads/cuda/";
  for (const char* name : {"turing_f16", "turing_s8"})
    for (const char* mode : {"functional", "full"}) {
      const Outcome outcome = box.run(fmt::format("run '{0}{1}.ptx' --launch '{0}{1}.toml' --arch t4 --mode {2} --json r.json", cuda, name, mode));
      EXPECT_EQ(outcome.code, 0) << name << " " << mode << "\n" << outcome.err;
      EXPECT_EQ(outcome.err.find("last bits") != std::string::npos, name == std::string("turing_f16")) << outcome.err;
      if (outcome.code != 0) continue;
      EXPECT_TRUE(nlohmann::json::parse(box.read("r.json"))["check"]["passed"].get<bool>());
    }
  const Outcome refused = box.run(fmt::format("run '{0}mma_s2_xor.ptx' --launch '{0}mma_s2_xor.toml' --arch t4 --mode functional", cuda));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("found .target sm_80, but machine t4 is sm_75"));
}

TEST(Run, ValidatePrintsMeasuredAgainstSimulated) {
  const Sandbox box;
  const Outcome outcome = box.run("validate --size 512 --kernel mma_64x64x32_s2_w4 --jobs 1 --json v.json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mma_64x64x32_s2_w4"));
  const auto json = nlohmann::json::parse(box.read("v.json"));
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_GT(json["rows"][0]["cycles"].get<double>(), 0);
  EXPECT_EQ(json["summary"]["all"]["rows"], 1);
}

// Lane l reads the word 16 l: 16 words in each of the banks 0 and 16, 15 too many; so 16 wavefronts, 15 of them conflicts. Two CTAs
// of two warps read three times: 12 executions. The stores do not conflict.
TEST(Run, ConflictsByBankAddUp) {
  const Sandbox box;
  box.write("k.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
  .reg .pred %p<2>; .reg .b32 %r<8>;
  .shared .align 16 .b8 s[4096];
  mov.u32 %r1, %tid.x;
  and.b32 %r1, %r1, 31;
  mov.u32 %r2, s;
  mad.lo.u32 %r3, %r1, 64, %r2;
  mad.lo.u32 %r4, %r1, 4, %r2;
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  mov.u32 %r5, 0;
  mov.u32 %r7, 0;
again:
  ld.shared.u32 %r6, [%r3];
  add.u32 %r7, %r7, %r6;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 3;
  @%p1 bra again;
  st.shared.u32 [%r4], %r7;
  ret;
}
)");
  box.write("l.toml", "entry = \"k\"\ngrid = [2]\nblock = [64]\n");
  const Outcome outcome = box.run("run k.ptx --launch l.toml --arch a100 --quiet --json r.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  size_t found = 0;
  const auto report = nlohmann::json::parse(box.read("r.json"));
  for (const auto& inst : report["instructions"]) {
    if (!inst.contains("bank_conflicts")) continue;
    ++found;
    EXPECT_EQ(inst["text"].get<std::string>().substr(0, 9), "ld.shared");
    EXPECT_EQ(inst["conflicts"], 12 * 15);
    ASSERT_EQ(inst["bank_conflicts"].size(), 32u);
    for (size_t bank = 0; bank < 32; ++bank) EXPECT_EQ(inst["bank_conflicts"][bank], bank == 0 || bank == 16 ? 12 * 15 : 0) << bank;
  }
  EXPECT_EQ(found, 1u);
}

TEST(Run, ArchShowsSources) {
  const Sandbox box;
  EXPECT_THAT(box.run("arch list").out, HasSubstr("h200"));
  EXPECT_THAT(box.run("arch show h200 --only smem").out, HasSubstr("banks"));
  const Outcome unknown = box.run("arch show h20");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("h200"));
}

}  // namespace
}  // namespace tcsim::tool
