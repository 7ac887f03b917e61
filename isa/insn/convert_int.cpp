#include "isa/insn/convert.h"
#include "isa/insn/convert_exec.h"

namespace tcsim::isa::conversion {
namespace {

template <class D, class S>
const Plan* plan_of(bool sat) {
  return sat ? &kPlan<&int_to_int_sat<D, S>> : &kPlan<&int_to_int<D, S>>;
}
template <class D>
const Plan* for_source(Type s, bool sat) {
  switch (s) {
    case Type::u8: return plan_of<D, uint8_t>(sat);
    case Type::u16: return plan_of<D, uint16_t>(sat);
    case Type::u32: return plan_of<D, uint32_t>(sat);
    case Type::u64: return plan_of<D, uint64_t>(sat);
    case Type::s8: return plan_of<D, int8_t>(sat);
    case Type::s16: return plan_of<D, int16_t>(sat);
    case Type::s32: return plan_of<D, int32_t>(sat);
    default: return plan_of<D, int64_t>(sat);
  }
}

}  // namespace

const Plan* int_to_int_plan(Type d, Type s, bool sat) {
  switch (d) {
    case Type::u8: return for_source<uint8_t>(s, sat);
    case Type::u16: return for_source<uint16_t>(s, sat);
    case Type::u32: return for_source<uint32_t>(s, sat);
    case Type::u64: return for_source<uint64_t>(s, sat);
    case Type::s8: return for_source<int8_t>(s, sat);
    case Type::s16: return for_source<int16_t>(s, sat);
    case Type::s32: return for_source<int32_t>(s, sat);
    default: return for_source<int64_t>(s, sat);
  }
}

}  // namespace tcsim::isa::conversion
