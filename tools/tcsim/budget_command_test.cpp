// The budget of shared memory as a user meets it: beside the error of a kernel that does not fit, and with --budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kGemm = "gemm --arch a100 --style ampere -m 128 -n 128 -k 64 --tile 128x128x32 ";

// 8192 B each of A and B a stage: 12 stages are 196608 B, of the 166912 B (163 KiB) of a CTA 10 stages take 163840 B.
TEST(Budget, ComesWithTheError) {
  const Sandbox box;
  const Outcome out = box.run(kGemm + "--stages 12");
  EXPECT_EQ(out.code, 1);
  for (const char* text : {"error: smem 196608 > 166912 B", "12 stages x 8192 B", "16,384 B a stage; the most that fit: 10 stages"})
    EXPECT_THAT(out.err, HasSubstr(text));
  EXPECT_EQ(box.run(kGemm + "--stages 10 --mode timing --quiet").code, 0);
  EXPECT_EQ(box.run(kGemm + "--stages 11 --mode timing --quiet").code, 1);
}

TEST(Budget, WithoutARun) {
  const Sandbox box;
  const Outcome out = box.run(kGemm + "--stages 3 --budget --json b.json");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("49,152 of 166,912 B on a100\n"));
  EXPECT_THAT(out.out, HasSubstr("the most that fit: 10 stages"));
  EXPECT_THAT(out.out, Not(HasSubstr("cycles")));
  const json budget = json::parse(box.read("b.json"));
  EXPECT_EQ(budget.at("largest_stages"), 10);
  EXPECT_EQ(budget.at("stage_bytes"), 16384);
  EXPECT_EQ(budget.at("uses").at(0).at("what"), "A");
  EXPECT_EQ(budget.at("fits"), true);
  EXPECT_EQ(box.run(kGemm + "--stages 12 --budget").code, 1);
  EXPECT_EQ(box.run(kGemm + "--best --budget").code, 2);
}

// A Triton cache folder: 147456 B of num_stages 4 on sm_80 are 3 buffers of 49152 B; an RTX 4090 has 101376 B for a CTA: 2 buffers, num_stages 3.
TEST(Budget, UsersKernel) {
  const Sandbox box;
  box.write("t/k.ptx",
            ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 global_smem[];\n.visible .entry k()\n.reqntid "
            "128\n{\n.shared .align 4 .b8 lut[256];\n"
            ".reg .b32 %r<4>;\nmov.u32 %r0, lut;\nld.shared.u32 %r1, [%r0];\nmov.u32 %r2, global_smem;\nst.shared.u32 [%r2], %r1;\nret;\n}\n");
  box.write(
      "t/k.json",
      R"({"name": "k", "num_warps": 4, "num_stages": 4, "shared": 147456, "cluster_dims": [1, 1, 1], "target": {"backend": "cuda", "arch": 80, "warp_size": 32}})");
  box.write("l.toml", "grid = [1, 1, 1]\nargs = []\n");
  const Outcome out = box.run("run t --launch l.toml --arch rtx4090");
  EXPECT_EQ(out.code, 1);
  // 147456 + 256 B of `lut`.
  for (const char* text :
       {"smem 147712 > 101376 B", "lut", "256 B", "dynamic", "49,152 B a stage; the most that fit: 3 stages", "estimate", "num_stages 4"})
    EXPECT_THAT(out.err, HasSubstr(text));
  const Outcome fits = box.run("run t --launch l.toml --arch a100 --budget");
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_THAT(fits.out, HasSubstr("the most that fit: 4 stages"));  // 3 x 49152 + 256 <= 166912
}

}  // namespace
}  // namespace tcsim::tool
