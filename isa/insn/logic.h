// Logic and shifts (PTX ISA "Logic and Shift Instructions"): scalar functions for the lane loops.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tcsim::isa::logic {

struct And {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T f(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T f(T a) {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <class T>
  static T f(T a) {
    return a == 0 ? T{1} : T{0};
  }
};

/// row[i] is all ones where the truth table has bit i = 4a + 2b + c.
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, const uint32_t* row) {
  const uint32_t f0 = row[0] ^ (c & (row[0] ^ row[1])), f1 = row[2] ^ (c & (row[2] ^ row[3]));
  const uint32_t f2 = row[4] ^ (c & (row[4] ^ row[5])), f3 = row[6] ^ (c & (row[6] ^ row[7]));
  const uint32_t g0 = f0 ^ (b & (f0 ^ f1)), g1 = f2 ^ (b & (f2 ^ f3));
  return g0 ^ (a & (g0 ^ g1));
}

/// Amounts above the width count as the width.
struct Shl {
  template <class T>
  static T f(T a, uint32_t b) {
    return b >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << (b & (8 * sizeof(T) - 1)));
  }
};
struct Shr {
  template <class T>
  static T f(T a, uint32_t b) {
    constexpr uint32_t last = 8 * sizeof(T) - 1;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (b > last ? last : b));
    else return b > last ? T{0} : static_cast<T>(a >> (b & last));
  }
};

/// shf: n is c limited to 32 (.clamp) or c modulo 32 (.wrap).
template <bool Clamp>
inline uint32_t shf_left(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = Clamp ? (c > 32 ? 32 : c) : c & 31;
  return static_cast<uint32_t>(((uint64_t{b} << 32 | a) << n) >> 32);
}
template <bool Clamp>
inline uint32_t shf_right(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t n = Clamp ? (c > 32 ? 32 : c) : c & 31;
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> n);
}

}  // namespace tcsim::isa::logic
