// Bulk copies as PTX: which forms are accepted (testdata/bulk_forms.txt), what they do, and what is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "isa/exec/ptx_harness.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

using testing::HasSubstr;

struct FormCase {
  std::string text;
  bool accepted;
};

std::vector<FormCase> forms() {
  std::ifstream in(TCSIM_SOURCE_DIR "/isa/insn/testdata/bulk_forms.txt");
  std::vector<FormCase> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool accepted = line[0] != '!';
    out.push_back({accepted ? line : line.substr(1), accepted});
  }
  return out;
}

std::string kernel(const std::string& statement) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
         ".reg .b16 %h<6>; .reg .b32 %r<10>; .reg .b64 %rd<4>;\n" +
         statement + "\nret;\n}\n";
}

TEST(BulkForms, TheTableAcceptsWhatTheManualHas) {
  ASSERT_GT(forms().size(), 60u);
  for (const FormCase& form : forms()) {
    Diagnostics diags;
    load_module("k.ptx", kernel(form.text), diags);
    EXPECT_EQ(!diags.has_errors(), form.accepted) << form.text << (diags.all().empty() ? "" : "\n" + diags.all()[0].str());
  }
}

#ifdef TCSIM_PTXAS
TEST(BulkForms, PtxasAgrees) {
  const auto base = std::filesystem::temp_directory_path() / fmt::format("tcsim_bulk_{}.ptx", ::getpid());
  for (const FormCase& form : forms()) {
    std::ofstream(base) << kernel(form.text);
    const int rc = std::system(fmt::format("{} -arch=sm_90a -O0 -o /dev/null {} > /dev/null 2>&1", TCSIM_PTXAS, base.string()).c_str());
    EXPECT_EQ(rc == 0, form.accepted) << form.text;
  }
  std::filesystem::remove(base);
}
#endif

/// 32 threads under sm_90a; thread 0 copies 64 bytes of the input (words 0 to 15 = 100 + i) and waits for them.
struct Hopper : PtxHarness {
  Hopper() {
    target = "sm_90a";
    version = "8.7";
    dynamic_smem = 4096;
    globals = ".extern .shared .align 1024 .b8 sm[];\n.shared .align 8 .b64 bar;\n";
    for (uint32_t i = 0; i < in.size(); ++i) in[i] = 100 + i;
  }
  void copy(const std::string& issue, uint32_t bytes) {
    run("mov.u32 %r1, sm; mov.u32 %r2, bar; setp.ne.u32 %p1, %tid_x, 0;\n"
        "@%p1 bra $ready;\nmbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n$ready:\nbar.sync 0;\n@%p1 bra $wait;\n" +
        fmt::format("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {};\n", bytes) + issue +
        "\n$wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra $wait;\n"
        "shl.b32 %r3, %tid_x, 2; add.u32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3]; st.global.u32 [%out], %r4;\n");
  }
};

TEST(BulkRun, GlobalToShared) {
  Hopper h;
  h.copy("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in + 16], 128, [%r2];", 128);
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), 104u);
  EXPECT_EQ(h.at(31), 135u);
}

TEST(BulkRun, SharedToGlobalAndReduction) {
  Hopper h;
  h.run(
      "mov.u32 %r1, sm; shl.b32 %r3, %tid_x, 2; add.u32 %r3, %r3, %r1; add.u32 %r4, %tid_x, 7; st.shared.u32 [%r3], %r4;\n"
      "fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %tid_x, 0;\n@%p1 bra $done;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%in], [%r1], 64;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%in + 64], [%r1 + 64], 64;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n$done:\n");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.in[0], 7u);
  EXPECT_EQ(h.in[15], 22u);
  EXPECT_EQ(h.in[16], 116u + 23u);
  EXPECT_EQ(h.in[32], 132u);
}

/// A 2-D map of the input (16 columns x 16 rows of u32) built in the kernel, as Triton does for descriptors made on the device.
const std::string kBuildMap = ".shared .align 128 .b8 scratch[128];\n.global .align 128 .b8 map[128];\n";
const std::string kReplace =
    "mov.u32 %r10, scratch; mov.u64 %rd10, map; shl.b32 %r11, %tid_x, 2; add.u32 %r11, %r11, %r10; mov.u32 %r12, 0; st.shared.u32 [%r11], %r12;\n"
    "bar.sync 0;\n@%p1 bra $made;\n"
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r10], %in;\n"
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r10], 1;\n"
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r10], 0, 8;\n"
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r10], 1, 4;\n"
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r10], 0, 16;\n"
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r10], 1, 16;\n"
    "mov.u64 %rd11, 64;\ntensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r10], 0, %rd11;\n"
    "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r10], 0, 1;\n"
    "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r10], 1, 1;\n"
    "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r10], 2;\n"
    "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r10], 0;\n"
    "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r10], 0;\n"
    "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r10], 0;\n$made:\nbar.warp.sync 0xffffffff;\n"
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd10], [%r10], 128;\n";

struct Tensor : Hopper {
  void load(const std::string& issue, uint32_t bytes = 128) {
    globals += kBuildMap;
    run("mov.u32 %r1, sm; mov.u32 %r2, bar; setp.ne.u32 %p1, %tid_x, 0;\n" + kReplace +
        "@%p1 bra $ready;\nmbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n$ready:\nbar.sync 0;\n@%p1 bra $wait;\n" +
        fmt::format("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {};\n", bytes) + issue +
        "\n$wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra $wait;\n"
        "shl.b32 %r3, %tid_x, 2; add.u32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3]; st.global.u32 [%out], %r4;\n");
  }
};

TEST(BulkRun, MapMadeOnTheDevice) {
  Tensor h;
  h.load("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd10, {12, 14}], [%r2];");
  ASSERT_TRUE(h.ok()) << h.messages();
  EXPECT_EQ(h.at(0), 100u + 14 * 16 + 12);
  EXPECT_EQ(h.at(3), 100u + 14 * 16 + 15);
  EXPECT_EQ(h.at(4), 0u);  // column 16
  EXPECT_EQ(h.at(8), 100u + 15 * 16 + 12);
  EXPECT_EQ(h.at(16), 0u);  // row 16
}

// sm_100a: both CTAs of a pair load into their own shared memory and tell the mbarrier of the even one.
TEST(BulkRun, MbarrierOfThePair) {
  for (const AsyncOrder order : {AsyncOrder::eager, AsyncOrder::late, AsyncOrder::random}) {
    Tensor h;
    h.globals += kBuildMap;
    h.target = "sm_100a";
    h.grid = h.cluster = {2, 1, 1};
    h.options.order = order;
    h.run("mov.u32 %r1, sm; mov.u32 %r2, bar; setp.ne.u32 %p1, %tid_x, 0; mov.u32 %r20, %cluster_ctarank; setp.eq.u32 %p4, %r20, 0;\n" + kReplace +
          "@%p1 bra $ready;\nmbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n$ready:\n"
          "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n@%p1 bra $wait;\nand.b32 %r21, %r2, 0xfeffffff;\n"
          "@%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;\n"
          "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%r1], [%rd10, {0, %r20}], [%r21];\n"
          "$wait:\n@!%p4 bra $done;\n$loop:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@!%p2 bra $loop;\n$done:\n"
          "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nshl.b32 %r3, %tid_x, 2; add.u32 %r3, %r3, %r1; ld.shared.u32 %r4, [%r3]; "
          "st.global.u32 [%out], %r4;\n");
    ASSERT_TRUE(h.ok()) << h.messages();
    EXPECT_EQ(h.at(3), 103u);
    EXPECT_EQ(h.at(32 + 3), 103u + 16);  // one row further down
  }
}

TEST(BulkRun, WrongRankIsReported) {
  Tensor h;
  h.load("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd10, {0}], [%r2];");
  EXPECT_THAT(h.messages(), HasSubstr("[bad-tensormap]"));
  EXPECT_THAT(h.messages(), HasSubstr("the tensor map has 2 dimensions, the instruction is .1d"));
}

TEST(BulkRun, MisalignedAndOutOfBounds) {
  Hopper h;
  h.copy("add.u32 %r1, %r1, 8; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 64, [%r2];", 64);
  EXPECT_THAT(h.messages(), HasSubstr("[misaligned]"));
  h.copy("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 56, [%r2];", 56);
  EXPECT_THAT(h.messages(), HasSubstr("size 56 B of a bulk copy is not a multiple of 16 B"));
  h.copy("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 1040, [%r2];", 1040);  // the input has 1024
  EXPECT_THAT(h.messages(), HasSubstr("[out-of-bounds]"));
  h.copy("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1 + 4096], [%in], 64, [%r2];", 64);
  EXPECT_THAT(h.messages(), HasSubstr("[out-of-bounds]"));
  h.copy("add.u32 %r2, %r2, 4; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%in], 64, [%r2];", 64);
  EXPECT_THAT(h.messages(), HasSubstr("is not a multiple of 8 B"));
}

}  // namespace
}  // namespace tcsim::isa
