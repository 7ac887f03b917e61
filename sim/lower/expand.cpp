// Instructions without a native counterpart, as the sequences that ptxas emits for them (counts and order read from its
// sm_80 and sm_90 output of one-instruction kernels; only the usual path of those that branch to a slow one).
//
// A sequence is steps "class[*n][:sources][!]": sources are a, b, c (operands) or numbers of earlier steps; none given
// means the step before (the first: all operands). *n repeats the step, each on the one before. ! marks the result.
#include <algorithm>
#include <array>

#include "isa/check.h"
#include "sim/lower/select.h"

namespace tcsim::sim::lowering {

namespace {

using isa::Type;

struct Row {
  Op op;
  Type type;             // none: any
  std::string_view mod;  // must be present; with a leading '-': must be absent
  std::string_view steps;
};

constexpr auto any = Type::none;
constexpr std::string_view kScaled = "setp:a fma:a,0 mufu:1 fma:2,0";  // denormals are scaled into range and back

constexpr Row kRows[] = {
    {Op::div, Type::s32, "",
     "alu:b alu:a alu:b cvt:0 mufu:3 alu:4 cvt:5 alu:6 imad:7,0 wide:6,8 alu:1 wide:9,10 alu:2 imad:11,12,10 "
     "setp:13,0 alu:13,14 alu:11,14 setp:15,0 alu:a,b setp:18 alu:16,17 alu:20,19 setp:b alu:21,22"},
    {Op::rem, Type::s32, "",
     "alu:b alu:a alu:b cvt:0 mufu:3 alu:4 cvt:5 alu:6 imad:7,0 wide:6,8 alu:1 wide:9,10 imad:11,2,10 "
     "setp:12,0 alu:12,13 setp:14,0 alu:14,15 setp:a alu:16,17 setp:b alu:18,19 alu"},
    {Op::div, Type::u32, "",
     "cvt:b mufu:0 alu:1 cvt:2 alu:b imad:3,4 wide:3,5 wide:6,a alu:7 imad:8,b,a setp:9,b alu:9,10 alu:7,10 "
     "setp:11,b alu:12,13 setp:b alu:14,15 alu:16"},
    {Op::rem, Type::u32, "",
     "cvt:b mufu:0 alu:1 cvt:2 alu:b imad:3,4 wide:3,5 wide:6,a alu:7 imad:8,b,a setp:9,b alu:9,10 "
     "setp:11,b alu:11,12 setp:b alu:13,14"},
    {Op::div, Type::s64, "",
     "alu bra alu*3 setp:a setp:b alu*2 cvt mufu alu cvt wide imad*2 alu wide alu wide imad wide*2 alu*3 wide imad alu*2 "
     "imad wide alu*3 wide*2 imad wide*2 alu*3 wide imad alu*2 setp*2 imad alu*4 setp*2 alu*16 setp*2 alu*13 bra"},
    {Op::rem, Type::s64, "",
     "alu bra alu*3 setp:a setp:b alu*2 cvt mufu alu cvt wide imad*2 alu wide alu wide imad wide*2 alu*3 wide imad alu*2 "
     "imad wide alu*3 wide*2 imad wide*2 alu*3 wide imad alu*2 setp*2 imad alu*4 setp*2 alu*13 setp*2 alu*11 bra"},
    {Op::div, Type::u64, "",
     "alu bra alu*2 cvt mufu alu cvt wide imad alu imad wide alu imad wide imad wide*2 alu*2 wide imad alu*2 imad wide "
     "imad*2 wide*3 alu*2 wide alu wide*3 alu*2 wide imad*2 setp alu*3 setp imad alu*9 setp*3 alu*9 bra"},
    {Op::rem, Type::u64, "",
     "alu bra alu*2 cvt mufu alu cvt wide imad alu imad wide alu*2 imad wide*3 alu*2 wide imad alu*2 imad wide "
     "alu*2 wide*3 alu wide alu wide*3 alu*2 wide imad*2 setp alu*2 setp alu*8 setp*3 alu*9 bra"},
    {Op::div, Type::s16, "",
     "alu:a alu:b alu:0 cvt:1 cvt:2 setp:3 setp:3 alu:3,5 fma:7 mufu:8 fma:9 fma:10,4 imad:11 cvt:12 alu:13 imad:14,0 imad:15 setp:16 alu*10 bra"},
    {Op::div, Type::u16, "", "alu:a alu:b cvt:0 cvt:1 setp:3 alu:3,4 fma:5 mufu:6 fma:7 fma:8,2 cvt:9 imad:10 setp:11 alu*6 bra"},
    {Op::abs, Type::s64, "", "alu:a setp:a alu:a alu:a,1 alu:2,1"},
    {Op::abs, Type::s32, "", "alu:a"},
    {Op::popc, Type::b64, "", "popc:a popc:a alu:0,1"},
    {Op::clz, Type::b32, "", "popc:a alu:0"},
    {Op::clz, Type::b64, "", "setp:a alu:a,0 popc:1 alu:2 alu:3 alu:4,0"},
    {Op::brev, Type::b64, "", "popc:a popc:a"},
    {Op::sad, any, "", "alu"},
    {Op::fns, any, "", "alu setp*2 alu*4 popc*2 alu imad setp alu*2 popc setp alu*2 imad popc setp alu*2 imad alu*2 setp alu*6 setp alu*3"},
    {Op::div, Type::f32, "full", "setp:b setp:b fma:b,0 fma:a,0 fma:2,1 fma:3,1 mufu:4 fma:6,5"},
    {Op::div, Type::f32, "approx", "setp:b fma:a,0 fma:b,0 mufu:2 fma:1,3"},
    {Op::div, Type::f32, "", "nop:b mufu:b mufu:a,b fma:1,b fma:1,3 fma:a,4 fma:5,a,b fma:4,6,5! bra:2 nop:8"},
    {Op::rcp, Type::f32, "ftz", "mufu:a"},
    {Op::rcp, Type::f32, "approx", "setp:a setp:a alu:a,0 alu:a,1 fma:2 mufu:4 fma:5,3"},
    {Op::rcp, Type::f32, "", "nop:a alu:a alu:1 setp:2 bra:3 mufu:a fma:5,a fma:6 fma:5,7! nop:4"},
    {Op::sqrt, Type::f32, "rn", "nop:a alu:a mufu:a setp:1 bra:3 fma:2,a fma:2 fma:5,a fma:7,6,5! nop:4"},
    {Op::sqrt, Type::f32, "ftz", "mufu:a"},
    {Op::sqrt, Type::f32, "", kScaled},
    {Op::rsqrt, Type::f32, "ftz", "mufu:a"},
    {Op::rsqrt, Type::f32, "", kScaled},
    {Op::ex2, Type::f32, "ftz", "mufu:a"},
    {Op::ex2, Type::f32, "", kScaled},
    {Op::lg2, Type::f32, "ftz", "mufu:a"},
    {Op::lg2, Type::f32, "", kScaled},
    {Op::sin, Type::f32, "", "fma:a mufu:0"},
    {Op::cos, Type::f32, "", "fma:a mufu:0"},
    {Op::ex2, Type::f16x2, "", "mufu:a mufu:a alu:0,1"},
    {Op::tanh, Type::f16x2, "", "mufu:a mufu:a alu:0,1"},
    {Op::ex2, Type::bf16x2, "", "alu:a alu:a mufu:0 mufu:1 pack:2,3"},
    {Op::tanh, Type::bf16x2, "", "alu:a alu:a mufu:0 mufu:1 pack:2,3"},
    {Op::div, Type::f64, "",
     "alu:a nop:b mufu:b setp:a f64:2,b f64:4 f64:2,5 f64:6,b f64:6,7 f64:8,a f64:9,a,b f64:8,10,9! fma:11 setp:12 bra:13 nop:14"},
    {Op::rcp, Type::f64, "", "nop:a mufu:a alu:a setp:a f64:1,a f64:4 f64:1,5 f64:6,a f64:6,7! bra:3 nop:9"},
    {Op::sqrt, Type::f64, "",
     "alu:a nop:a mufu:a alu:a setp:a f64:2 f64:5,a f64:6 f64:2,6 f64:7,8 f64:9,a alu:9 alu:9 f64:10,a f64:13,11! bra:4 nop:15"},
    {Op::rsqrt, Type::f64, "", "alu:a nop:a mufu:a alu:a setp:a f64:2 f64:5,a f64:6 f64:2,6 f64:7,8! bra:4 nop:10"},
    {Op::min, Type::f64, "", "f64:a,b alu:a,b,0 alu:a,b,0 alu:1,2"},
    {Op::max, Type::f64, "", "f64:a,b alu:a,b,0 alu:a,b,0 alu:1,2"},
    {Op::testp, any, "", "alu:a setp:0"},
    {Op::redux, any, "", "redux alu"},
    {Op::bar_red, any, "", "bar alu"},
    {Op::membar, any, "-cta", "membar nop nop"},
    {Op::cp_async_wait, any, "wait_all", "depbar depbar"},
    {Op::brx, any, "", "alu alu bra"},
};

TimingClass class_named(std::string_view name, const Inst& inst) {
  constexpr std::array<std::pair<std::string_view, TimingClass>, 15> kNames{{{"alu", TimingClass::alu},
                                                                             {"imad", TimingClass::imad},
                                                                             {"wide", TimingClass::imad_wide},
                                                                             {"setp", TimingClass::isetp},
                                                                             {"cvt", TimingClass::cvt},
                                                                             {"mufu", TimingClass::mufu},
                                                                             {"fma", TimingClass::fma},
                                                                             {"f64", TimingClass::fp64},
                                                                             {"bra", TimingClass::branch},
                                                                             {"half", TimingClass::half},
                                                                             {"nop", TimingClass::nop},
                                                                             {"popc", TimingClass::popc},
                                                                             {"pack", TimingClass::cvt_pack},
                                                                             {"redux", TimingClass::redux},
                                                                             {"bar", TimingClass::bar}}};
  for (const auto& [text, timing] : kNames)
    if (text == name) return timing;
  return inst.timing;  // membar, depbar: what the instruction itself is
}

bool matches(const Row& row, const Inst& inst) {
  if (row.op != inst.op) return false;
  const bool same_width = row.type == Type::b32 || row.type == Type::b64;
  if (row.type != any && row.type != inst.type && !(same_width && isa::bits(row.type) == isa::bits(inst.type))) return false;
  if (row.mod.empty()) return true;
  return row.mod[0] == '-' ? !has_mod(inst, row.mod.substr(1)) : has_mod(inst, row.mod);
}

}  // namespace

struct Expansion {
  Selector& selector;
  Function& fn;
  int32_t i;
  int sources;
  std::vector<ValueId> steps;
  int32_t result = -1;

  Values inputs(std::string_view text) {
    const Inst& inst = fn.inst(i);
    if (text.empty() && !steps.empty()) return {steps.back()};
    if (text.empty()) return selector.reads(i, sources);
    Values uses;
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find(','));
      text.remove_prefix(std::min(text.size(), one.size() + 1));
      if (one[0] >= 'a' && one[0] <= 'd') {
        const int g = sources + (one[0] - 'a');
        if (g < inst.group_count)
          for (const Operand& operand : inst.group(g)) selector.add_reads(uses, operand, i);
      } else {
        size_t k = 0;
        for (char c : one) k = k * 10 + static_cast<size_t>(c - '0');
        TC_CHECK(k < steps.size(), "expansion of '{}' names step {} of {}", inst.text, k, steps.size());
        uses.push_back(steps[k]);
      }
    }
    return uses;
  }

  void add(std::string_view text) {
    const bool marked = text.ends_with('!');
    if (marked) text.remove_suffix(1);
    const size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon);
    const std::string_view from = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    int count = 1;
    if (const size_t star = name.find('*'); star != std::string_view::npos) {
      count = 0;
      for (char c : name.substr(star + 1)) count = count * 10 + (c - '0');
      name = name.substr(0, star);
    }
    for (int k = 0; k < count; ++k) {
      const TimingClass timing = class_named(name, fn.inst(i));
      const int32_t op = selector.emit(i, timing, inputs(k == 0 ? from : std::string_view{}), true);
      steps.push_back(fn.ops[op].defs[0]);
      if (marked) result = op;
    }
  }
};

bool Selector::select_expansion(int32_t i) {
  const Inst& inst = fn_.inst(i);
  const int sources = first_source(inst);
  const auto constant_group = [&](int g) { return g < inst.group_count && source(inst.operand(g), i).constant; };
  if (inst.op == Op::bfe || inst.op == Op::bfi) {
    const int position = inst.op == Op::bfe ? 2 : 3;
    const Values uses = reads(i, 1);
    const bool known = constant_group(position) && constant_group(position + 1);
    const bool zero = known && source(inst.operand(position), i).value == 0;
    if (!known) {
      ValueId last = step(i, TimingClass::alu, uses);
      for (int k = 0; k < (inst.op == Op::bfe ? 3 : 4); ++k) last = step(i, TimingClass::alu, {last});
      emit_result(i, TimingClass::alu, {last});
    } else if (zero) {
      emit_result(i, alu(i), uses);
    } else {
      emit_result(i, alu(i), {step(i, alu(i), uses)});
    }
    return true;
  }
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return matches(r, inst); });
  if (row == std::end(kRows)) return false;
  if (inst.op == Op::div && inst.type == Type::f32 && has_mod(inst, "approx") && has_mod(inst, "ftz")) {
    Values uses = reads(i, 2);
    const ValueId reciprocal = step(i, TimingClass::mufu, uses);
    uses.clear();
    add_reads(uses, inst.operand(1), i);
    uses.push_back(reciprocal);
    emit_result(i, TimingClass::fma, uses);
    return true;
  }
  Expansion expansion{*this, fn_, i, sources, {}, -1};
  std::string_view rest = row->steps;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (!one.empty()) expansion.add(one);
  }
  // The marked (else the last) step defines the results.
  const int32_t at = expansion.result >= 0 ? expansion.result : fn_.insts[i].ops.back();
  for (int32_t reg : fn_.insts[i].defs) {
    const ValueId id = fn_.value_of(reg, i);
    fn_.values[id].op = at;
    fn_.ops[at].defs.push_back(id);
  }
  return true;
}

}  // namespace tcsim::sim::lowering
