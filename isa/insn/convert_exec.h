// How a conversion runs: a core works on 32 lanes in natural layout; the shell around it adapts registers that are wider
// than the types (PTX ISA "Operand Size Exceeding Instruction-Type Size").
#pragma once
#include <string>

#include "isa/insn/common.h"

namespace tcsim::isa::conversion {

/// source and result: 32 lanes of 32 bits (types up to 32 bits) or 64 bits. rounding is a RoundingMode.
using Core = void (*)(const void* source, void* result, uint32_t rounding);

/// A core in static storage, so that Inst::plan can point at it.
struct Plan {
  Core core = nullptr;
};

/// d = F(a) or F(a, rounding), lane by lane.
template <auto F>
struct CoreLoop;
template <class D, class S, D (*F)(S)>
struct CoreLoop<F> {
  static void run(const void* source, void* result, uint32_t) {
    const auto* a = static_cast<const Lane<S>*>(source);
    auto* d = static_cast<Lane<D>*>(result);
    alignas(64) Lane<D> value[kLanes];
    for (int l = 0; l < kLanes; ++l) value[l] = to_lane<D>(F(from_lane<S>(a[l])));
    std::memcpy(d, value, sizeof(value));
  }
};
template <class D, class S, D (*F)(S, uint32_t)>
struct CoreLoop<F> {
  static void run(const void* source, void* result, uint32_t rounding) {
    const auto* a = static_cast<const Lane<S>*>(source);
    alignas(64) Lane<D> value[kLanes];
    for (int l = 0; l < kLanes; ++l) value[l] = to_lane<D>(F(from_lane<S>(a[l]), rounding));
    std::memcpy(result, value, sizeof(value));
  }
};
template <auto F>
inline constexpr Plan kPlan{&CoreLoop<F>::run};

const Plan* int_to_int_plan(Type d, Type s, bool sat);
const Plan* int_to_float_plan(Type d, Type s, bool sat, bool directed);
const Plan* float_to_int_plan(Type d, Type s, bool ftz);
const Plan* float_to_float_plan(Type d, Type s, bool ftz, bool sat, bool integral, bool directed);

}  // namespace tcsim::isa::conversion
