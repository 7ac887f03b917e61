// Shared tools of the instruction chapters: a lane loop made from a plain scalar function, and helpers for bind functions.
//
//   uint32_t add_u32(uint32_t a, uint32_t b) { return a + b; }
//   inst.exec = exec<&add_u32>;      // d, a, b; groups 0, 1, 2 of the instruction
//
// A scalar function takes and returns uint16_t/int16_t (one 32-bit slot, upper half zero), 32-bit, or 64-bit values.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "isa/exec/context.h"
#include "isa/insn/def.h"

namespace tcsim::isa {

/// How a value of type T lies in a register lane.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline T from_lane(Lane<T> raw) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(raw);
  else return static_cast<T>(raw);
}

template <class T>
inline Lane<T> to_lane(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<Lane<T>>(value);
  else return static_cast<Lane<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

/// Results are computed for all lanes in a buffer that nothing aliases (so the loop vectorises even when d is also a
/// source), then written to the lanes in mask.
template <class Raw>
inline void commit(Raw* d, const Raw* value, uint32_t mask) {
  if (mask == kFullMask) {
    std::memcpy(d, value, sizeof(Raw) * kLanes);
  } else {
    for (int l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1) ? value[l] : d[l];
  }
}

template <auto F>
struct LaneOp;

template <class D, class... A, D (*F)(A...)>
struct LaneOp<F> {
  static void run(ExecContext& ctx, const Inst& inst, uint32_t mask) { run(ctx, inst, mask, std::index_sequence_for<A...>{}); }

 private:
  template <size_t... I>
  static void run(ExecContext& ctx, const Inst& inst, uint32_t mask, std::index_sequence<I...>) {
    loop(ctx.reg<Lane<D>>(inst.operand(0).slot), mask, ctx.src<Lane<A>>(inst.operand(I + 1))...);
  }
  static void loop(Lane<D>* d, uint32_t mask, const Lane<A>*... a) {
    alignas(64) Lane<D> value[kLanes];
    for (int l = 0; l < kLanes; ++l) value[l] = to_lane<D>(F(from_lane<A>(a[l])...));
    commit(d, value, mask);
  }
};

/// d = F(a, b, ...) in each lane.
template <auto F>
inline constexpr ExecFn exec = &LaneOp<F>::run;

/// Packs 32 truth values (0 or 1) into a lane mask.
inline uint32_t pack_mask(const uint32_t* truth) {
  uint32_t packed = 0;
  for (int l = 0; l < kLanes; ++l) packed |= truth[l] << l;
  return packed;
}

/// Lanes for which F(a, b, ...) holds. First source is group `First`.
template <auto F, int First = 1>
struct LaneTest;

template <class... A, bool (*F)(A...), int First>
struct LaneTest<F, First> {
  static uint32_t run(ExecContext& ctx, const Inst& inst) { return run(ctx, inst, std::index_sequence_for<A...>{}); }

 private:
  template <size_t... I>
  static uint32_t run(ExecContext& ctx, const Inst& inst, std::index_sequence<I...>) {
    return loop(ctx.src<Lane<A>>(inst.operand(static_cast<int>(I) + First))...);
  }
  static uint32_t loop(const Lane<A>*... a) {
    alignas(64) uint32_t truth[kLanes];
    for (int l = 0; l < kLanes; ++l) truth[l] = F(from_lane<A>(a[l])...) ? 1u : 0u;
    return pack_mask(truth);
  }
};

// ---- bind helpers ----

/// Bits that a register operand of this type occupies in the register file (32, 64 or 128; pred: 1).
inline int register_bits(Type type) {
  const int width = bits(type);
  return width == 1 ? 1 : width <= 32 ? 32 : width;
}

/// Checks that each operand (first of each group) has the width of its type, and gives immediates that width.
/// Type::none skips a position; Type::pred wants a predicate. Returns an error text, or empty.
std::string expect_operands(Inst& inst, const Decoded& decoded, std::initializer_list<Type> types);

/// Fills what the lowering and the report read.
inline void describe(Inst& inst, Op op, Type type, TimingClass timing, Type type2 = Type::none) {
  inst.op = op;
  inst.type = type;
  inst.type2 = type2;
  inst.timing = timing;
}

// exec functions for the C++ type that a PTX type stands for; Op is a struct with a function template f<T>.
// unsigned: types whose operation does not depend on the sign (add, mul.lo, bitwise).
template <class Op>
ExecFn exec_for_width(Type type) {
  switch (bits(type)) {
    case 16: return exec<&Op::template f<uint16_t>>;
    case 64: return exec<&Op::template f<uint64_t>>;
    default: return exec<&Op::template f<uint32_t>>;
  }
}
template <class Op>
ExecFn exec_for_32_64(Type type) {
  return bits(type) == 64 ? exec<&Op::template f<uint64_t>> : exec<&Op::template f<uint32_t>>;
}
template <class Op>
ExecFn exec_for_signed(Type type) {
  switch (bits(type)) {
    case 16: return exec<&Op::template f<int16_t>>;
    case 64: return exec<&Op::template f<int64_t>>;
    default: return exec<&Op::template f<int32_t>>;
  }
}
template <class Op>
ExecFn exec_for_type(Type type) {
  return is_signed(type) ? exec_for_signed<Op>(type) : exec_for_width<Op>(type);
}

}  // namespace tcsim::isa
