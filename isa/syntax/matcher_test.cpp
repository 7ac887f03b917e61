#include "isa/syntax/matcher.h"

#include <gtest/gtest.h>

namespace tcsim::isa {
namespace {

constexpr InstDef kRows[] = {
    {.base = "add", .syntax = "add.type d, a, b;  .type = { .s32, .u32 };", .op = Op::add},
    {.base = "add", .syntax = "add{.rnd}{.ftz}.f32 d, a, b;  .rnd = { .rn, .rz };", .op = Op::fma},
    {.base = "ldmatrix",
     .syntax = "ldmatrix.sync.aligned.shape.num{.trans}.shared{::cta}.b16 r, [p];  .shape = { .m8n8 };  .num = { .x1, .x2, .x4 };",
     .op = Op::ldmatrix},
    {.base = "mma", .syntax = "mma.dtype.ctype d;  .dtype = { .f16, .f32 };  .ctype = { .f16, .f32 };", .op = Op::mma},
};

const Matcher& matcher() {
  static const Matcher m({&kRows[0], &kRows[1], &kRows[2], &kRows[3]});
  return m;
}

TEST(Matcher, TellsFormsApartByModifiers) {
  ASSERT_EQ(matcher().match("add.s32").size(), 1u);
  EXPECT_EQ(matcher().match("add.s32")[0].form->def, &kRows[0]);
  EXPECT_EQ(matcher().match("add.rn.ftz.f32")[0].form->def, &kRows[1]);
  EXPECT_TRUE(matcher().match("add.ftz.s32").empty());
  EXPECT_TRUE(matcher().match("add").empty());
  EXPECT_TRUE(matcher().match("add.s32.s32").empty());
}

TEST(Matcher, GivesSetsAndValues) {
  const auto found = matcher().match("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16");
  ASSERT_EQ(found.size(), 1u);
  Decoded decoded;
  decoded.mods = found[0].mods;
  EXPECT_EQ(decoded.value("num"), "x4");
  EXPECT_TRUE(decoded.has("trans"));
  EXPECT_TRUE(decoded.has("shared"));
  EXPECT_EQ(decoded.value("rnd"), "");
}

// Triton emits .x4.m8n8, CUTLASS and nvcc .m8n8.x4; ptxas takes both, and add.f32.rn.
TEST(Matcher, ModifiersInAnotherOrder) {
  const auto found = matcher().match("ldmatrix.sync.aligned.x4.m8n8.shared.b16");
  ASSERT_EQ(found.size(), 1u);
  Decoded decoded;
  decoded.mods = found[0].mods;
  EXPECT_EQ(decoded.value("num"), "x4");
  EXPECT_EQ(matcher().match("add.f32.rn").size(), 1u);
  EXPECT_TRUE(matcher().match("ldmatrix.sync.aligned.x4.x4.shared.b16").empty());
}

TEST(Matcher, SetsWithTheSameMembersKeepTheirOrder) {
  Decoded decoded;
  decoded.mods = matcher().match("mma.f32.f16")[0].mods;
  EXPECT_EQ(decoded.type("dtype"), Type::f32);
  EXPECT_EQ(decoded.type("ctype"), Type::f16);
}

TEST(Matcher, ExplainsWhyNothingFits) {
  using Kind = Matcher::Misfit::Kind;
  EXPECT_EQ(matcher().explain("frobnicate.b32").kind, Kind::not_an_instruction);
  EXPECT_EQ(matcher().explain("wgmma.fence.sync.aligned").kind, Kind::unsupported);
  EXPECT_EQ(matcher().explain("add.f64").kind, Kind::unsupported) << "PTX has it, this table has not";
  const auto bad = matcher().explain("add.s33");
  EXPECT_EQ(bad.kind, Kind::bad_modifier);
  EXPECT_EQ(bad.word, ".s33");
  EXPECT_EQ(bad.offset, 3u);
  EXPECT_EQ(bad.expected.substr(0, 4), ".s32") << "the nearest word comes first";
  const auto cut = matcher().explain("add");
  EXPECT_EQ(cut.kind, Kind::bad_modifier);
  EXPECT_EQ(cut.word, "");
  EXPECT_EQ(cut.offset, 3u);
}

}  // namespace
}  // namespace tcsim::isa
