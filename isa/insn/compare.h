// Comparisons (PTX ISA "Comparison and Selection Instructions"): scalar functions for the lane loops.
#pragma once
#include <cstdint>

#include "isa/insn/fp.h"

namespace tcsim::isa::compare {

// Operands are integers, or floats where an ordered comparison is false and an unordered one (u) true with a NaN.
struct Eq {
  template <class T>
  static bool f(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static bool f(T a, T b) {
    return (a < b) | (a > b);
  }
};
struct Lt {
  template <class T>
  static bool f(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static bool f(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static bool f(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <class T>
  static bool f(T a, T b) {
    return a >= b;
  }
};
struct Equ {
  template <class T>
  static bool f(T a, T b) {
    return !Ne::f(a, b);
  }
};
struct Neu {
  template <class T>
  static bool f(T a, T b) {
    return !(a == b);
  }
};
struct Ltu {
  template <class T>
  static bool f(T a, T b) {
    return !(a >= b);
  }
};
struct Leu {
  template <class T>
  static bool f(T a, T b) {
    return !(a > b);
  }
};
struct Gtu {
  template <class T>
  static bool f(T a, T b) {
    return !(a <= b);
  }
};
struct Geu {
  template <class T>
  static bool f(T a, T b) {
    return !(a < b);
  }
};
struct Num {
  template <class T>
  static bool f(T a, T b) {
    return (a == a) & (b == b);
  }
};
struct Nan {
  template <class T>
  static bool f(T a, T b) {
    return (a != a) | (b != b);
  }
};

// How a source is read before it is compared. Raw is the register's type, value(raw) what the comparison sees.
struct PlainF32 {
  using Raw = float;
  static float value(float x) { return x; }
};
struct FtzF32 {
  using Raw = float;
  static float value(float x) { return fp::flush(x); }
};
struct PlainF64 {
  using Raw = double;
  static double value(double x) { return x; }
};
struct F16 {
  using Raw = uint16_t;
  static float value(uint16_t x) { return fp::half_to_float(x); }
};
struct FtzF16 {
  using Raw = uint16_t;
  static float value(uint16_t x) { return fp::half_to_float(fp::flush_half(x)); }
};
struct Bf16 {
  using Raw = uint16_t;
  static float value(uint16_t x) { return fp::bf16_to_float(x); }
};

template <class Cmp, class Read>
inline bool float_test(typename Read::Raw a, typename Read::Raw b) {
  return Cmp::f(Read::value(a), Read::value(b));
}
/// Half H (0 or 1) of packed sources.
template <class Cmp, class Read, int H>
inline bool half_test(uint32_t a, uint32_t b) {
  return Cmp::f(Read::value(static_cast<uint16_t>(a >> (16 * H))), Read::value(static_cast<uint16_t>(b >> (16 * H))));
}

}  // namespace tcsim::isa::compare
