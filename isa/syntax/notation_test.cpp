#include "isa/syntax/notation.h"

#include <gtest/gtest.h>

namespace tcsim::isa::syntax {
namespace {

TEST(Notation, SetsAndLiterals) {
  const auto forms = parse_notation("shl.type d, a, b;  .type = { .b16, .b32, .b64 };");
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_EQ(forms[0].base, "shl");
  ASSERT_EQ(forms[0].nodes.size(), 1u);
  EXPECT_EQ(forms[0].nodes[0].set, "type");
  ASSERT_EQ(forms[0].nodes[0].choices.size(), 3u);
  EXPECT_EQ(forms[0].nodes[0].choices[1].value, "b32");
  ASSERT_EQ(forms[0].operand_lists.size(), 1u);
  EXPECT_EQ(forms[0].operand_lists[0].size(), 3u);
}

TEST(Notation, OptionalPartsNest) {
  const auto forms = parse_notation("x{.a{.b}}.c d;");
  // open(.a open(.b)) .c: the outer part ends before node 4, the inner one too.
  ASSERT_EQ(forms[0].nodes.size(), 5u);
  EXPECT_EQ(forms[0].nodes[0].kind, Node::Kind::open);
  EXPECT_EQ(forms[0].nodes[0].end, 4u);
  EXPECT_EQ(forms[0].nodes[2].kind, Node::Kind::open);
  EXPECT_EQ(forms[0].nodes[2].end, 4u);
}

TEST(Notation, TwoSpellingsOfAWordHaveOneValue) {
  const auto forms = parse_notation("cp.async.shared{::cta} [dst], [src];");
  const auto& choices = forms[0].nodes[1].choices;
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].words[0], "shared");
  EXPECT_EQ(choices[1].words[0], "shared::cta");
  EXPECT_EQ(choices[1].value, "shared");
}

TEST(Notation, OptionalOperandsExpand) {
  const auto forms = parse_notation("cp.async [dst], [src], cp-size{, src-size}{, cache-policy};");
  const auto& lists = forms[0].operand_lists;
  ASSERT_EQ(lists.size(), 4u);  // 2 x 2 choices: 3, 4, 4 and 5 operands
  EXPECT_EQ(lists[0].size(), 3u);
  EXPECT_EQ(lists[1].size(), 4u);
  EXPECT_EQ(lists[3].size(), 5u);
  EXPECT_TRUE(lists[0][0].address);
  EXPECT_EQ(lists[0][2].name, "cp-size");
  EXPECT_FALSE(lists[0][2].address);
}

TEST(Notation, PairsAndPredicates) {
  const auto optional = parse_notation("setp.eq p{|q}, a, b, {!}c;")[0].operand_lists[0];
  ASSERT_EQ(optional.size(), 4u);
  EXPECT_TRUE(optional[0].may_pair);
  EXPECT_EQ(optional[0].min_atoms, 1);
  EXPECT_TRUE(optional[3].predicate);
  EXPECT_FALSE(optional[1].predicate);
  const auto required = parse_notation("elect.sync d|p, membermask;")[0].operand_lists[0];
  EXPECT_EQ(required[0].min_atoms, 2);
  const auto old = parse_notation("shfl.sync d[|p], a, b, c, membermask;")[0].operand_lists[0];
  EXPECT_TRUE(old[0].may_pair);
  EXPECT_EQ(old.size(), 5u);
}

TEST(Notation, SetsBelongToTheirBlock) {
  const auto forms = parse_notation("a.t d;  .t = { .x };\n\nb.t d;  .t = { .y };\n\nc.t d;");
  ASSERT_EQ(forms.size(), 3u);
  EXPECT_EQ(forms[0].nodes[0].choices[0].value, "x");
  EXPECT_EQ(forms[1].nodes[0].choices[0].value, "y");
  EXPECT_EQ(forms[2].nodes[0].choices[0].value, "x") << "a block without the set takes the first one of the row";
}

TEST(Notation, MnemonicMayBreakOverLines) {
  const auto forms = parse_notation("mma.sync.aligned.m16n8k8.row.col\n     .f32.f16.f16.f32 d, a, b, c;");
  EXPECT_EQ(forms[0].nodes.size(), 9u);
  EXPECT_EQ(forms[0].operand_lists[0].size(), 4u);
}

TEST(Notation, MembersOfSeveralWords) {
  const auto forms = parse_notation("w.layout d;  .layout = { .row.col, .col };");
  EXPECT_EQ(forms[0].nodes[0].choices[0].words, (std::vector<std::string>{"row", "col"}));
  EXPECT_EQ(forms[0].nodes[0].choices[0].value, "row.col");
}

TEST(Notation, NoOperands) { EXPECT_TRUE(parse_notation("ret{.uni};")[0].operand_lists[0].empty()); }

}  // namespace
}  // namespace tcsim::isa::syntax
