// Lexer and parser: what is declared, how operands are read, where problems are found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isa/ptx/test_table.h"

namespace tcsim::isa {
namespace {

using testing::HasSubstr;

const Operand& source(const Kernel& kernel, size_t inst, int group = 1) { return kernel.insts[inst].operand(group); }
uint32_t lane32(const Operand& operand) { return static_cast<const uint32_t*>(operand.lanes)[31]; }
uint64_t lane64(const Operand& operand) { return static_cast<const uint64_t*>(operand.lanes)[31]; }

TEST(Parser, Header) {
  const auto m = load_test(".version 8.7\n.target sm_90a, debug\n.address_size 64\n.entry k() { ret; }");
  EXPECT_EQ(m.messages(), "");
  EXPECT_EQ(m.module->version_major, 8);
  EXPECT_EQ(m.module->version_minor, 7);
  EXPECT_EQ(m.module->target, "sm_90a");
  EXPECT_EQ(m.module->sm, 90);
  EXPECT_TRUE(m.module->arch_specific);
}

TEST(Parser, Literals) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<2>; .reg .f32 %f<2>; .reg .f64 %d<2>; .reg .b64 %q<2>; .reg .b16 %h;
    mov.b32 %r0, 0x1F; mov.b32 %r0, 010; mov.b32 %r0, 0b101; mov.b32 %r0, -1; mov.b32 %r0, WARP_SZ;
    mov.b32 %r0, (1 << 4) | 3; mov.b32 %r0, 7 - 2 * 3; mov.b32 %r0, 5 > 3 ? 10 : 20; mov.b32 %r0, ~0U;
    mov.f32 %f0, 0f3F800000; mov.f32 %f0, 1.5; mov.f64 %d0, 0f3F800000; mov.f64 %d0, 0d3FF8000000000000;
    mov.f32 %f0, 0d3FF8000000000000; mov.b32 %r0, 0f40000000; mov.b64 %q0, -2; mov.b16 %h, -1; mov.f32 %f0, -1.5e1;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  const uint32_t wanted[] = {31, 8, 5, 0xffffffff, 32, 19, 1, 10, 0xffffffff};
  for (size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(lane32(source(k, i)), wanted[i]) << k.insts[i].text;
  EXPECT_EQ(lane32(source(k, 9)), 0x3f800000u);
  EXPECT_EQ(lane32(source(k, 10)), 0x3fc00000u);            // 1.5f
  EXPECT_EQ(lane64(source(k, 11)), 0x3ff0000000000000ull);  // 1.0f as f64
  EXPECT_EQ(lane64(source(k, 12)), 0x3ff8000000000000ull);
  EXPECT_EQ(lane32(source(k, 13)), 0x3fc00000u);  // 1.5 as f32
  EXPECT_EQ(lane32(source(k, 14)), 0x40000000u);  // bits stay bits
  EXPECT_EQ(lane64(source(k, 15)), 0xfffffffffffffffeull);
  EXPECT_EQ(lane32(source(k, 16)), 0xffffu);      // 16-bit values have zeros above
  EXPECT_EQ(lane32(source(k, 17)), 0xc1700000u);  // -15.0f
}

TEST(Parser, RegistersGetDenseSlots) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<100>; .reg .b64 %q<9>; .reg .pred %p<9>; .reg .b16 %h; .reg .b128 %x;
    mov.b32 %r77, 1; mov.b64 %q5, 2; mov.b16 %h, 3; setp.eq.s32 %p7, %r77, 1; add.s32 %r3, %r77, %r77;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_EQ(k.insts[0].operand(0).slot, 0);
  EXPECT_EQ(k.insts[1].operand(0).slot, 1);
  EXPECT_EQ(k.insts[1].operand(0).bit_width, 64);
  EXPECT_EQ(k.insts[2].operand(0).slot, 3);  // after the two slots of %q5
  EXPECT_EQ(k.insts[2].operand(0).bit_width, 32);
  EXPECT_EQ(k.insts[4].operand(0).slot, 4);
  EXPECT_EQ(k.slot_count, 5u);
  EXPECT_EQ(k.pred_count, 1u);
  EXPECT_EQ(k.register_names[1].second, "%q5");
}

TEST(Parser, NestedScopesShadowAndHaveTheirOwnLabels) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<4>; .reg .pred %p<2>;
    mov.b32 %r0, 1;
    { .reg .b32 %r<2>; .reg .pred p; L: mov.b32 %r0, 2; @p bra L; }
    { .reg .pred p; L: mov.b32 %r1, 3; @!p bra L; bra OUT; }
    OUT: mov.b32 %r0, 4;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_NE(k.insts[1].operand(0).slot, k.insts[0].operand(0).slot);
  EXPECT_EQ(k.insts[6].operand(0).slot, k.insts[0].operand(0).slot);
  EXPECT_EQ(k.insts[2].target, 1);
  EXPECT_EQ(k.insts[4].target, 3);
  EXPECT_TRUE(k.insts[4].guard_negated);
  EXPECT_EQ(k.insts[5].target, 6);
}

TEST(Parser, AddressesAndVectors) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<4>; .reg .b64 %q; .reg .v2 .b32 %v;
    ld.global.b32 %r0, [%q]; ld.global.b32 %r0, [ %q + 0x10 ]; ld.global.b32 %r0, [%q+-8]; ld.global.b32 %r0, [%q-4];
    ld.shared.v2.b32 {%r0, _}, [sm+4]; ld.shared.b32 %r0, [256]; ld.shared.v2.b32 %v, [sm]; mov.b32 %r1, %v.y; mov.b32 %r0, sm+12;)",
                                       ".shared .align 8 .b8 sm[64];"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  const int64_t offsets[] = {0, 16, -8, -4};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(source(k, i).kind, Operand::Kind::address);
    EXPECT_EQ(source(k, i).value, offsets[i]);
    EXPECT_EQ(source(k, i).bit_width, 64);
  }
  EXPECT_EQ(k.insts[4].groups[0].count, 2);
  EXPECT_EQ(k.insts[4].group(0)[1].kind, Operand::Kind::sink);
  EXPECT_EQ(source(k, 4).slot, -1);
  EXPECT_EQ(source(k, 4).value, 4);
  EXPECT_EQ(source(k, 4).space, Space::shared);
  EXPECT_EQ(source(k, 5).value, 256);
  EXPECT_EQ(k.insts[6].groups[0].count, 2);
  EXPECT_EQ(source(k, 7).slot, k.insts[6].group(0)[1].slot);
  EXPECT_EQ(lane32(source(k, 8)), 12u);
}

TEST(Parser, PredicatesAndPairs) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<4>; .reg .pred %p<4>;
    setp.lt.s32 %p0|%p1, %r0, 5; setp.lt.s32 _|%p1, %r0, 5; selp.b32 %r0, %r1, %r2, !%p1; mov.pred %p2, 1; mov.pred %p3, 0;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_EQ(k.insts[0].groups[0].count, 2);
  EXPECT_EQ(k.insts[1].group(0)[0].kind, Operand::Kind::sink);
  EXPECT_TRUE(source(k, 2, 3).negated);
  // Constants are the predicate that nobody writes (false), or its negation.
  EXPECT_EQ(source(k, 3).kind, Operand::Kind::pred);
  EXPECT_TRUE(source(k, 3).negated);
  EXPECT_FALSE(source(k, 4).negated);
  EXPECT_EQ(source(k, 3).slot, source(k, 4).slot);
}

TEST(Parser, SpecialRegisters) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<4>; .reg .b64 %q;
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.x; mov.u32 %r0, %envreg3; mov.u64 %q, %clock64; mov.u32 %r0, %laneid;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.specials.size(), 3u);
  EXPECT_EQ(k.specials[0].name, "%tid.x");
  EXPECT_EQ(source(k, 0).slot, source(k, 1).slot);
  EXPECT_EQ(source(k, 3).lanes, nullptr);
  EXPECT_EQ(source(k, 3).value, static_cast<int64_t>(DynamicSpecial::clock64));
}

TEST(Parser, DebugInformation) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r;
    .loc 1 12 3
    mov.b32 %r, 1;
    .loc 2 43 17, function_name $L__info_string0, inlined_at 1 15 20
    $L__tmp0: mov.b32 %r, 2;
    ret;)") + ".file 1 \"/src/gemm.py\"\n.file 2 \"lib.py\", 1700000000, 55\n.section .debug_info { .b32 1 { } .b8 2,3\n .b64 $L__tmp0+4 }\n");
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_EQ(m.module->source_of(k.insts[0]), "gemm.py:12");
  EXPECT_EQ(m.module->source_of(k.insts[1]), "lib.py:43");
  EXPECT_EQ(k.insts[1].loc.col, 17u);
  const auto plain = load_test(kernel_text("ret;"));
  EXPECT_EQ(plain.module->source_of(plain.kernel().insts[0]), "k.ptx:7");
}

TEST(Parser, PerformanceDirectives) {
  const auto m = load_test(
      ".version 8.0 .target sm_90 .address_size 64\n.visible .entry k() .reqntid 128, 2 .minnctapersm 3 .maxnreg 64\n"
      ".explicitcluster .reqnctapercluster 2, 1, 1 .pragma \"nounroll\"; { ret; }");
  ASSERT_EQ(m.messages(), "");
  EXPECT_EQ(m.kernel().reqntid, (std::array<uint32_t, 3>{128, 2, 1}));
  EXPECT_EQ(m.kernel().minnctapersm, 3u);
  EXPECT_EQ(m.kernel().maxnreg, 64u);
  EXPECT_EQ(m.kernel().reqnctapercluster[0], 2u);
}

struct BadCase {
  const char* body;
  const char* message;  // line 7 is the first line of the body
};

TEST(Parser, ProblemsHaveTheirPlace) {
  const BadCase cases[] = {
      {"add.s33 %r0, %r1, %r2;", "k.ptx:8:4: error: found '.s33' in 'add.s33', expected .s32"},
      {"add.s32 %r0, %r1;", "k.ptx:8:1: error: found 2 operands in 'add.s32 %r0, %r1', expected 'd, a, b'"},
      {"frob.b32 %r0;", "k.ptx:8:1: error: found the unknown instruction 'frob.b32', expected a PTX instruction"},
      {"  add.s32 %r0, %r1, %r99;", "k.ptx:8:21: error: found '%r99', which is not declared, expected a register, a variable or a constant"},
      {"bra NOWHERE;", "k.ptx:8:5: error: found 'NOWHERE', which is not declared, expected a label"},
      {"@%r0 bra L;", "k.ptx:8:2: error: found '%r0' as a guard, expected a predicate register"},
      {"add.s32 %r0 %r1, %r2;", "k.ptx:8:13: error: found '%r1', expected ';' after 'add.s32'"},
      {"ld.global.b32 %r0, [%q;", "k.ptx:8:23: error: found ';', expected ']' after the address"},
      {"ld.global.b32 %r0, %q;", "k.ptx:8:1: error: found '%q' as operand 2 of 'ld.global.b32', expected an address in [ ]"},
      {"mov.b32 %r0, 0x1G;", "k.ptx:8:14: error: found '0x1G', expected a number"},
      {"mov.b32 %r0, 0f123;", "k.ptx:8:14: error: found '0f123', expected 8 hexadecimal digits after 0f"},
      {"mov.b32 %r0, 4 / 0;", "k.ptx:8:18: error: found 0 to the right of '/', expected another value"},
      {"ld.global.v2.b32 {%r0, ]}, [%q];", "k.ptx:8:24: error: found ']', expected a constant"},
      {"ld.global.v2.b32 {%r0, %r1;", "k.ptx:8:27: error: found ';', expected '}' after the vector"},
      {"ld.global.v4.b32 {%r0, %r1}, [%q];", "without a vector of 4 elements"},
      {"stmatrix.sync.b16 [%q], %r0;",
       "found 'stmatrix.sync.b16' with .version 7.0 and .target sm_80, expected at least .version 7.8 and .target sm_90"},
      {"add.s32 %r0, %r1, %clock;", "k.ptx:8:19: error: found '%clock' as an operand of 'add.s32', expected special registers only in mov"},
      {".reg .b32 %r<4>;", "k.ptx:8:11: error: found '%r<4>', which is declared already in this scope"},
      {"ld.shared.b32 %r0, [g];", "k.ptx:8:21: error: found the .global variable 'g' in 'ld.shared.b32', expected one in .shared"},
  };
  for (const BadCase& c : cases) {
    const auto m = load_test(kernel_text(fmt::format(".reg .b32 %r<4>; .reg .b64 %q; .reg .pred %p;\n{}\nL: ret;", c.body), ".global .u32 g;"));
    EXPECT_THAT(m.messages(), HasSubstr(c.message)) << c.body;
    EXPECT_EQ(m.diags.error_count(), 1u) << m.messages();
  }
}

TEST(Parser, UnsupportedInstructionsAreGrouped) {
  const auto m =
      load_test(kernel_text("wgmma.fence.sync.aligned;\nwgmma.fence.sync.aligned;\nwgmma.fence.sync.aligned;\ntcgen05.wait::ld.sync.aligned;"));
  EXPECT_EQ(m.messages(),
            "k.ptx:7:1: error: found 'wgmma.fence.sync.aligned', which this release does not execute (and at 2 more places)\n"
            "k.ptx:10:1: error: found 'tcgen05.wait::ld.sync.aligned', which this release does not execute\n");
  EXPECT_EQ(m.diags.all()[0].kind, "unsupported-instruction");
}

TEST(Parser, WholeFilesThatAreNotPtx) {
  EXPECT_EQ(load_test("").messages(), "k.ptx:1:1: error: found an empty file, expected .version\n");
  EXPECT_EQ(load_test("hello world").messages(), "k.ptx:1:1: error: found 'hello', expected .version\n");
  EXPECT_EQ(load_test(std::string("\x7f"
                                  "ELF\x02\x01",
                                  6))
                .messages(),
            "k.ptx:1:1: error: found the byte 0x7f, expected PTX text\n");
  EXPECT_THAT(load_test(kernel_text("ret;").substr(0, 70)).messages(), HasSubstr("found end of file, expected"));
  EXPECT_THAT(load_test(".version 7.0\n.target sm_80\n.address_size 64\n").messages(), HasSubstr("found no .entry, expected at least one kernel"));
  EXPECT_THAT(load_test(".version 7.0\n.target sm_80\n.address_size 32\n").messages(), HasSubstr("3:15: error: found .address_size 32, expected 64"));
}

TEST(Parser, HostileSizesAreRefused) {
  EXPECT_THAT(load_test(kernel_text(".reg .b32 %r<99999999>;")).messages(),
              HasSubstr("7:14: error: found 99999999 registers, expected a count from 1 to 1048576"));
  EXPECT_THAT(load_test(kernel_text(".shared .b8 x[99999999999];")).messages(), HasSubstr("expected at most that"));
  EXPECT_THAT(load_test(kernel_text(".shared .b8 x[99999][99999][99999][99999][99999];")).messages(), HasSubstr("expected at most that"));
  EXPECT_THAT(load_test(kernel_text(std::string(1000, '{'))).messages(), HasSubstr("found braces nested more than 200 deep"));
  EXPECT_THAT(load_test(kernel_text(fmt::format(".reg .b32 %r; mov.b32 %r, {}1;", std::string(5000, '(')))).messages(),
              HasSubstr("nested more than 100 deep"));
  std::string many = ".reg .b32 %r;";
  for (int i = 0; i < 200; ++i) many += fmt::format("mov.b32 %r {};\n", i);
  EXPECT_EQ(load_test(kernel_text(many)).diags.error_count(), 50u);
}

TEST(Parser, CommentsAndPreprocessorLines) {
  const auto m = load_test("// one\n# 1 \"a.cu\"\n.version 7.0 /* two\n three */ .target sm_80\n.address_size 64\n.entry k() { ret; /**/ }\n");
  EXPECT_EQ(m.messages(), "");
  EXPECT_EQ(m.kernel().insts[0].line, 6u);
}

}  // namespace
}  // namespace tcsim::isa
