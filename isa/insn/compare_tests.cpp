#include "isa/insn/compare.h"
#include "isa/insn/compare_exec.h"

namespace tcsim::isa::compare {
namespace {

template <auto F>
constexpr Tests kTest{&LaneTest<F>::run, nullptr};
template <auto Low, auto High>
constexpr Tests kPair{&LaneTest<Low>::run, &LaneTest<High>::run};

/// Calls make<Cmp>() for the comparison that `cmp` names; make returns a const Tests*.
template <class Make>
const Tests* choose_float(std::string_view cmp, Make make) {
  if (cmp == "eq") return make.template operator()<Eq>();
  if (cmp == "ne") return make.template operator()<Ne>();
  if (cmp == "lt") return make.template operator()<Lt>();
  if (cmp == "le") return make.template operator()<Le>();
  if (cmp == "gt") return make.template operator()<Gt>();
  if (cmp == "ge") return make.template operator()<Ge>();
  if (cmp == "equ") return make.template operator()<Equ>();
  if (cmp == "neu") return make.template operator()<Neu>();
  if (cmp == "ltu") return make.template operator()<Ltu>();
  if (cmp == "leu") return make.template operator()<Leu>();
  if (cmp == "gtu") return make.template operator()<Gtu>();
  if (cmp == "geu") return make.template operator()<Geu>();
  if (cmp == "num") return make.template operator()<Num>();
  if (cmp == "nan") return make.template operator()<Nan>();
  return nullptr;
}

template <class Read>
const Tests* scalar_tests(std::string_view cmp) {
  return choose_float(cmp, []<class Cmp>() { return &kTest<&float_test<Cmp, Read>>; });
}
template <class Read>
const Tests* packed_tests(std::string_view cmp) {
  return choose_float(cmp, []<class Cmp>() { return &kPair<&half_test<Cmp, Read, 0>, &half_test<Cmp, Read, 1>>; });
}

template <class T>
const Tests* ordered_tests(std::string_view cmp) {
  if (cmp == "lt" || cmp == "lo") return &kTest<&Lt::f<T>>;
  if (cmp == "le" || cmp == "ls") return &kTest<&Le::f<T>>;
  if (cmp == "gt" || cmp == "hi") return &kTest<&Gt::f<T>>;
  if (cmp == "ge" || cmp == "hs") return &kTest<&Ge::f<T>>;
  return nullptr;
}
template <class T>
const Tests* equality_tests(std::string_view cmp) {
  if (cmp == "eq") return &kTest<&Eq::f<T>>;
  if (cmp == "ne") return &kTest<&Neu::f<T>>;
  return nullptr;
}

const Tests* integer_tests(std::string_view cmp, Type type) {
  if (cmp == "eq" || cmp == "ne") {
    switch (bits(type)) {
      case 16: return equality_tests<uint16_t>(cmp);
      case 64: return equality_tests<uint64_t>(cmp);
      default: return equality_tests<uint32_t>(cmp);
    }
  }
  const bool unsigned_name = cmp == "lo" || cmp == "ls" || cmp == "hi" || cmp == "hs";
  if (unsigned_name && is_signed(type)) return nullptr;
  switch (type) {
    case Type::u16: return ordered_tests<uint16_t>(cmp);
    case Type::u32: return ordered_tests<uint32_t>(cmp);
    case Type::u64: return ordered_tests<uint64_t>(cmp);
    case Type::s16: return ordered_tests<int16_t>(cmp);
    case Type::s32: return ordered_tests<int32_t>(cmp);
    case Type::s64: return ordered_tests<int64_t>(cmp);
    default: return nullptr;  // bit types have eq and ne only
  }
}

const Tests* float_tests(std::string_view cmp, Type type, bool ftz) {
  if (type == Type::f64) return ftz ? nullptr : scalar_tests<PlainF64>(cmp);
  return ftz ? scalar_tests<FtzF32>(cmp) : scalar_tests<PlainF32>(cmp);
}

const Tests* half_tests(std::string_view cmp, Type type, bool ftz) {
  switch (type) {
    case Type::f16: return ftz ? scalar_tests<FtzF16>(cmp) : scalar_tests<F16>(cmp);
    case Type::f16x2: return ftz ? packed_tests<FtzF16>(cmp) : packed_tests<F16>(cmp);
    case Type::bf16: return ftz ? nullptr : scalar_tests<Bf16>(cmp);
    case Type::bf16x2: return ftz ? nullptr : packed_tests<Bf16>(cmp);
    default: return nullptr;
  }
}

}  // namespace

const Tests* find_tests(std::string_view cmp, Type type, bool ftz) {
  switch (type) {
    case Type::f32:
    case Type::f64: return float_tests(cmp, type, ftz);
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2: return half_tests(cmp, type, ftz);
    default: return ftz ? nullptr : integer_tests(cmp, type);
  }
}

}  // namespace tcsim::isa::compare
