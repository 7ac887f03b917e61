// Tables and helpers shared by the floating-point chapter (float.cpp, float_select.cpp, approx.cpp, half.cpp, mixed.cpp).
#pragma once
#include <cfenv>
#include <span>
#include <string_view>

#include "isa/insn/common.h"
#include "isa/insn/fp.h"

namespace tcsim::isa {

/// Rounding attribute of an instruction as kept in Inst::flags.
enum RoundingMode : uint32_t { kRoundNearest = 0, kRoundZero = 1, kRoundDown = 2, kRoundUp = 3 };

inline RoundingMode rounding_of(std::string_view name) {
  return name == "rz" ? kRoundZero : name == "rm" ? kRoundDown : name == "rp" ? kRoundUp : kRoundNearest;
}

/// Sets the host's rounding mode for its lifetime. It encloses a whole lane loop (once a warp instruction), never a lane.
/// Loads and stores of the loop go to memory that the fesetround calls may touch, so no arithmetic moves across them.
class RoundingScope {
 public:
  explicit RoundingScope(uint32_t rounding) {
    constexpr int kModes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[rounding & 3]);
  }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
};

/// Fn under the rounding attribute in inst.flags. IEEE 754 arithmetic of the host in that mode is PTX's .rz, .rm, .rp.
template <ExecFn Fn>
void exec_directed(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const RoundingScope scope(inst.flags);
  Fn(ctx, inst, mask);
}

/// exec function for F, directed or not.
template <auto F>
ExecFn exec_rounded(RoundingMode rounding) {
  return rounding == kRoundNearest ? exec<F> : &exec_directed<exec<F>>;
}

/// Both halves of a packed 64-bit pair of floats.
template <float (*F)(float, float)>
inline uint64_t f32_pair(uint64_t a, uint64_t b) {
  const auto lo = fp::bits32(F(fp::float_of(static_cast<uint32_t>(a)), fp::float_of(static_cast<uint32_t>(b))));
  const auto hi = fp::bits32(F(fp::float_of(static_cast<uint32_t>(a >> 32)), fp::float_of(static_cast<uint32_t>(b >> 32))));
  return lo | static_cast<uint64_t>(hi) << 32;
}
template <float (*F)(float, float, float)>
inline uint64_t f32_pair(uint64_t a, uint64_t b, uint64_t c) {
  const auto lo =
      fp::bits32(F(fp::float_of(static_cast<uint32_t>(a)), fp::float_of(static_cast<uint32_t>(b)), fp::float_of(static_cast<uint32_t>(c))));
  const auto hi = fp::bits32(
      F(fp::float_of(static_cast<uint32_t>(a >> 32)), fp::float_of(static_cast<uint32_t>(b >> 32)), fp::float_of(static_cast<uint32_t>(c >> 32))));
  return lo | static_cast<uint64_t>(hi) << 32;
}

std::span<const InstDef> arithmetic_rows();     // float.cpp: add ... sqrt
std::span<const InstDef> float_select_rows();   // float_select.cpp: min, max, abs, neg, copysign, testp
std::span<const InstDef> approximation_rows();  // approx.cpp
std::span<const InstDef> half_rows();           // half.cpp: f16 and bf16
std::span<const InstDef> half_select_rows();    // half_select.cpp: f16 and bf16 min, max, abs, neg, tanh, ex2

}  // namespace tcsim::isa
