// Linking: places of variables, calls, control flow, addresses of globals.
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isa/exec/memory.h"
#include "isa/ptx/test_table.h"

namespace tcsim::isa {
namespace {

using testing::HasSubstr;

std::vector<std::string> texts(const Kernel& kernel) {
  std::vector<std::string> out;
  for (const Inst& inst : kernel.insts) out.emplace_back(inst.text);
  return out;
}

TEST(Layout, ParametersAtTheirAlignment) {
  const auto m = load_test(kernel_text(".reg .b32 %r; ld.param.b32 %r, [c+4]; ret;", "",
                                       ".param .u8 a, .param .u64 .ptr .global .align 16 b, .param .align 16 .b8 c[20], .param .u32 d"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.params.size(), 4u);
  EXPECT_EQ(k.params[0].offset, 0u);
  EXPECT_EQ(k.params[1].offset, 8u);
  EXPECT_TRUE(k.params[1].is_pointer);
  EXPECT_EQ(k.params[2].offset, 16u);
  EXPECT_EQ(k.params[2].bytes, 20u);
  EXPECT_EQ(k.params[3].offset, 36u);
  EXPECT_EQ(k.param_bytes, 40u);
  EXPECT_EQ(k.insts[0].operand(1).value, 20);  // c + 4
  EXPECT_EQ(k.insts[0].operand(1).space, Space::param);
}

TEST(Layout, SharedVariablesThatAreUsed) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r; .shared .align 8 .b8 own[16];
    mov.b32 %r, dyn; mov.b32 %r, own; ld.shared.b32 %r, [a]; ret;)",
                                       ".shared .b8 a[3]; .shared .align 4 .b8 unused[1000]; .extern .shared .align 16 .b8 dyn[];"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_EQ(k.insts[2].operand(1).value, 0);  // a: 0..3
  EXPECT_EQ(k.insts[1].operand(1).value, 8);  // own: aligned to 8
  EXPECT_EQ(k.shared_static_bytes, 24u);
  EXPECT_EQ(k.dynamic_shared_offset, 32u);  // aligned to 16
  EXPECT_EQ(k.insts[0].operand(1).value, 32);
}

TEST(Layout, LocalVariables) {
  const auto m = load_test(
      kernel_text(".reg .b64 %q; .local .align 4 .b8 x[6]; .local .align 16 .b8 y[16]; mov.b64 %q, x; mov.b64 %q, y; ld.local.b64 %q, [y+8];"));
  ASSERT_EQ(m.messages(), "");
  EXPECT_EQ(m.kernel().insts[1].operand(1).value, 16);
  EXPECT_EQ(m.kernel().insts[2].operand(1).value, 24);
  EXPECT_EQ(m.kernel().local_bytes, 32u);
}

constexpr const char* kTwice = R"(
.func (.param .b32 ret0) twice(.param .b32 x)
{ .reg .b32 %r<3>; .reg .pred %p; ld.param.b32 %r1, [x]; setp.lt.s32 %p, %r1, 0; @%p ret; add.s32 %r2, %r1, %r1; st.param.b32 [ret0+0], %r2; ret; }
)";

TEST(Calls, AreInlinedThroughRegisters) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<3>;
    { .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0; call.uni (retval0), twice, (param0); ld.param.b32 %r2, [retval0+0]; }
    add.s32 %r0, %r2, 1; ret;)",
                                       kTwice));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.insts.size(), 9u) << testing::PrintToString(texts(k));
  EXPECT_EQ(k.insts[0].op, Op::mov);  // st.param
  EXPECT_EQ(k.insts[1].op, Op::mov);  // ld.param in the callee
  EXPECT_EQ(k.insts[0].operand(0).slot, k.insts[1].operand(1).slot);
  EXPECT_EQ(k.insts[3].op, Op::bra);  // @%p ret
  EXPECT_EQ(k.insts[3].target, 6);    // behind the callee
  EXPECT_EQ(k.insts[3].guard, 0);
  EXPECT_EQ(k.insts[5].operand(0).slot, k.insts[6].operand(1).slot);  // result
  EXPECT_EQ(k.local_bytes, 0u);
  // The callee's %r1 and the caller's %r1 are different registers.
  EXPECT_NE(k.insts[0].operand(1).slot, k.insts[1].operand(0).slot);
}

TEST(Calls, EachCallHasItsOwnRegistersAndLabels) {
  const std::string call = "{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 r; call.uni (r), twice, (a); ld.param.b32 %r1, [r]; }\n";
  const auto m = load_test(kernel_text(fmt::format(".reg .b32 %r<3>;\n{}{}ret;", call, call), kTwice));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.insts.size(), 15u);
  EXPECT_EQ(k.insts[3].target, 6);
  EXPECT_EQ(k.insts[10].target, 13);
  EXPECT_NE(k.insts[1].operand(0).slot, k.insts[8].operand(0).slot);
}

TEST(Calls, BytewiseParametersGoThroughLocalMemory) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r<3>;
    { .param .align 4 .b8 s[8]; st.param.b32 [s+0], %r1; st.param.b32 [s+4], %r2; call.uni f, (s); } ret;)",
                                       ".func f(.param .align 4 .b8 p[8]) { .reg .b16 %h; ld.param.u8 %h, [p+5]; ret; }"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  EXPECT_EQ(k.insts[0].text.substr(0, 12), "st.local.b32");
  EXPECT_EQ(k.insts[1].operand(0).value, 4);
  EXPECT_EQ(k.insts[2].op, Op::ld);
  EXPECT_EQ(k.insts[2].space, Space::local);
  EXPECT_EQ(k.insts[2].operand(1).value, 5);
  EXPECT_EQ(k.local_bytes, 8u);
}

TEST(Calls, RegisterParameters) {
  const auto m =
      load_test(kernel_text(".reg .b32 %r<3>; call (%r2), f, (%r1); ret;", ".func (.reg .b32 out) f(.reg .b32 in) { add.s32 out, in, 1; ret; }"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.insts.size(), 4u);
  EXPECT_EQ(k.insts[0].operand(0).slot, k.insts[1].operand(1).slot);
  EXPECT_EQ(k.insts[2].operand(1).slot, k.insts[1].operand(0).slot);
}

TEST(Calls, WhatIsNotExecuted) {
  EXPECT_THAT(load_test(kernel_text("call f; ret;", ".func g();\n.func f() { call g; ret; }\n.func g() { call f; ret; }")).messages(),
              HasSubstr("k.ptx:6:13: error: found a recursive call of 'f', which this release does not execute"));
  EXPECT_THAT(load_test(kernel_text(".reg .b64 %q; P: .callprototype _ (); call %q, P; ret;")).messages(), HasSubstr("found an indirect call"));
  EXPECT_THAT(load_test(kernel_text("{ .param .b64 p; .param .b64 r; call.uni (r), malloc, (p); } ret;",
                                    ".extern .func (.param .b64 r) malloc(.param .b64 n);"))
                  .messages(),
              HasSubstr("found a call of the external function 'malloc', which this release does not execute"));
  EXPECT_THAT(load_test(kernel_text("call f, (1); ret;", ".func f() { ret; }")).messages(),
              HasSubstr("with 1 parameters and 0 results, expected 0 and 0"));
}

TEST(Calls, ExternalsOfCuda) {
  const auto m = load_test(kernel_text(
      R"(.reg .b32 %r; .param .b64 p; .param .b32 r; call.uni (r), vprintf, (p, p); ld.param.b32 %r, [r]; call.uni __assertfail, (p); ret;)",
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b); .extern .func __assertfail(.param .b64 a);"));
  EXPECT_FALSE(m.diags.has_errors()) << m.messages();
  EXPECT_THAT(m.messages(), HasSubstr("note: found a call of vprintf: nothing is printed, the result is 0"));
  EXPECT_EQ(m.kernel().insts[0].op, Op::mov);
  EXPECT_EQ(m.kernel().insts[2].op, Op::trap);
}

TEST(Flow, BothSidesOfABranchMeetAtThePostDominator) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r; .reg .pred %p;
    @%p bra ELSE; mov.b32 %r, 1; bra.uni END; ELSE: mov.b32 %r, 2; END: mov.b32 %r, 3; ret;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.blocks.size(), 4u);
  EXPECT_EQ(k.insts[0].target, 3);
  EXPECT_EQ(k.insts[0].reconverge, 4);
  EXPECT_FALSE(k.insts[0].uniform_branch);
  EXPECT_TRUE(k.insts[2].uniform_branch);
  EXPECT_EQ(k.blocks[0].successors, (std::array<int32_t, 2>{1, 2}));
  EXPECT_EQ(k.blocks[0].post_dominator, 3);
  EXPECT_EQ(k.block_of[4], 3u);
}

TEST(Flow, LoopsMeetBehindTheLoop) {
  const auto m = load_test(kernel_text(".reg .b32 %r; .reg .pred %p; L: add.s32 %r, %r, 1; @%p bra L; mov.b32 %r, 0; ret;"));
  EXPECT_EQ(m.kernel().insts[1].target, 0);
  EXPECT_EQ(m.kernel().insts[1].reconverge, 2);
}

TEST(Flow, SidesThatEndMeetNowhere) {
  const auto m = load_test(kernel_text(".reg .pred %p; @%p bra L; ret; L: ret;"));
  EXPECT_EQ(m.kernel().insts[0].reconverge, -1);
  const auto endless = load_test(kernel_text(".reg .pred %p; @%p bra L; ret; L: bra L;"));
  EXPECT_EQ(endless.messages(), "");
  EXPECT_EQ(endless.kernel().insts[2].reconverge, -1);
}

TEST(Flow, BranchTables) {
  const auto m = load_test(kernel_text(R"(.reg .b32 %r; T: .branchtargets A, B, C; brx.idx %r, T; A: mov.b32 %r, 1; B: mov.b32 %r, 2; C: ret;)"));
  ASSERT_EQ(m.messages(), "");
  const Kernel& k = m.kernel();
  ASSERT_EQ(k.insts[0].groups[1].count, 3);
  EXPECT_EQ(k.insts[0].group(1)[2].value, 3);
  EXPECT_EQ(k.insts[0].reconverge, 3);
  EXPECT_EQ(k.blocks[0].more_successors.size(), 1u);
}

TEST(Flow, ALabelAtTheEndHasAPlace) {
  const auto m = load_test(kernel_text(".reg .pred %p; @%p bra END; trap; END:"));
  ASSERT_EQ(m.messages(), "");
  EXPECT_EQ(m.kernel().insts[0].target, 2);
  EXPECT_EQ(m.kernel().insts[2].op, Op::ret);
}

TEST(Globals, AddressesAreFilledIn) {
  auto m = load_test(kernel_text(R"(.reg .b64 %q; .reg .b32 %r; mov.b64 %q, x+4; ld.global.b32 %r, [x+8]; ld.const.b64 %q, [c]; ret;)",
                                 ".global .align 4 .u32 x[4] = {1, 2, 0x30}; .global .u64 p = x+4; .const .b8 pad = 7; .const .u64 c = generic(x); "
                                 ".global .f32 f[2] = {1.0, 0f40000000};\n"
                                 ".global .b8 bytes[3] = {0xFF(x), 0xFF00(x), 9}; .global .b8 s[6] = \"hello\";"));
  ASSERT_EQ(m.messages(), "");
  GlobalMemory memory;
  bind_globals(*m.module, memory);
  const uint64_t x = m.module->find_symbol("x")->address;
  ASSERT_NE(x, 0u);
  const Kernel& k = m.kernel();
  EXPECT_EQ(static_cast<const uint64_t*>(k.insts[0].operand(1).lanes)[17], x + 4);
  EXPECT_EQ(k.insts[1].operand(1).value, static_cast<int64_t>(x + 8));
  EXPECT_EQ(k.insts[2].operand(1).value, 8);  // behind pad, aligned
  const auto word = [&](uint64_t address) {
    uint32_t v;
    std::memcpy(&v, memory.map(address, 4), 4);
    return v;
  };
  EXPECT_EQ(word(x), 1u);
  EXPECT_EQ(word(x + 8), 0x30u);
  EXPECT_EQ(word(x + 12), 0u);
  uint64_t pointer;
  std::memcpy(&pointer, memory.map(m.module->find_symbol("p")->address, 8), 8);
  EXPECT_EQ(pointer, x + 4);
  std::memcpy(&pointer, m.module->constant_bytes.data() + 8, 8);
  EXPECT_EQ(pointer, x);
  EXPECT_EQ(m.module->constant_bytes[0], 7);
  EXPECT_EQ(word(m.module->find_symbol("f")->address), 0x3f800000u);
  const uint8_t* bytes = memory.map(m.module->find_symbol("bytes")->address, 3);
  EXPECT_EQ(bytes[0], x & 0xff);
  EXPECT_EQ(bytes[1], x >> 8 & 0xff);
  EXPECT_EQ(bytes[2], 9);
  EXPECT_EQ(memory.map(m.module->find_symbol("s")->address, 6)[4], 'o');
}

TEST(Globals, TooManyInitialValues) {
  const auto m = load_test(kernel_text("ret;", ".const .b8 c[2] = {1, 2, 3};"));
  EXPECT_THAT(m.messages(), HasSubstr("k.ptx:4:19: error: found 3 bytes of initial values for 'c', expected at most 2"));
}

TEST(Globals, GenericAccessByNameUsesTheWindow) {
  const auto m = load_test(kernel_text(".reg .b32 %r; .shared .b32 s[4]; ld.b32 %r, [s+4]; ret;"));
  ASSERT_EQ(m.messages(), "");
  EXPECT_EQ(m.kernel().insts[0].operand(1).value, static_cast<int64_t>(kSharedWindow + 4));
}

}  // namespace
}  // namespace tcsim::isa
