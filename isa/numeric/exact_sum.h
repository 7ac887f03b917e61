// The slow obvious twin of the tensor-core sum, in exact integers of any size. For tests.
#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <vector>

#include "isa/numeric/formats.h"
#include "isa/numeric/tensor_core.h"

namespace tcsim::isa::exact {

using Int = boost::multiprecision::cpp_int;

/// A term of the sum: magnitude * 2^exponent, and the exponent that takes part in the maximum.
struct Term {
  Int magnitude;
  int exponent = 0, align = 0;
  bool negative = false;
};

inline Term term_of(Type t, uint32_t bits) {
  const Number n = decode_number(t, bits);
  return {Int(n.significand), n.exponent, n.exponent + traits(t).mantissa, n.negative};
}

/// sum * 2^exponent (sum != 0), cut toward zero to `digits` significant bits but not below 2^-149, as f32.
inline uint32_t cut_to_f32(const Int& sum, int exponent, int digits) {
  const bool negative = sum < 0;
  Int magnitude = negative ? Int(-sum) : sum;
  const int lead = static_cast<int>(msb(magnitude)) + exponent;
  const int last = std::max(lead - 23, -149);
  magnitude = last >= exponent ? Int(magnitude >> (last - exponent)) : Int(magnitude << (exponent - last));
  auto m = magnitude.convert_to<uint64_t>();
  m &= ~((uint64_t{1} << (24 - digits)) - 1);
  if (lead > 127) return negative ? 0xff800000u : 0x7f800000u;
  if (m == 0) return 0;
  const uint32_t bits = m >> 23 ? static_cast<uint32_t>(((last + 150) << 23) + static_cast<int64_t>(m - (1 << 23))) : static_cast<uint32_t>(m);
  return bits | (negative ? 0x80000000u : 0u);
}

/// sum * 2^exponent to f16, nearest even.
inline uint32_t round_to_f16(const Int& sum, int exponent) {
  const bool negative = sum < 0;
  Int magnitude = negative ? Int(-sum) : sum;
  const int lead = static_cast<int>(msb(magnitude)) + exponent;
  const int last = std::max(lead - 10, -24);
  Int q = last >= exponent ? Int(magnitude >> (last - exponent)) : Int(magnitude << (exponent - last));
  if (last > exponent) {
    const Int rest = magnitude - (q << (last - exponent)), half = Int(1) << (last - exponent - 1);
    if (rest > half || (rest == half && (q & 1) != 0)) ++q;
  }
  const auto m = q.convert_to<uint64_t>();
  if (m == 0) return 0;
  uint64_t bits = m >> 10 ? ((static_cast<uint64_t>(last + 25) << 10) + (m - 1024)) : m;
  if (bits > 0x7c00) bits = 0x7c00;
  return static_cast<uint32_t>(bits) | (negative ? 0x8000u : 0u);
}

/// A term as a signed integer times 2^exponent.
struct SignedTerm {
  Int significand;
  int exponent = 0, align = 0;
};

/// Every term cut toward zero to f fraction bits below 2^E, added; E: the largest align of a term that is not zero, at least clamp.
/// The unit of the sum is 2^exponent.
struct AlignedSum {
  Int sum;
  int exponent = 0;
};
inline AlignedSum aligned_sum(const std::vector<SignedTerm>& terms, int f, int clamp) {
  int e = clamp;
  for (const SignedTerm& t : terms)
    if (t.significand != 0) e = std::max(e, t.align);
  AlignedSum s{0, e - f};
  for (const SignedTerm& t : terms) {
    if (t.significand == 0) continue;
    const int left = t.exponent - s.exponent;
    const Int magnitude = t.significand < 0 ? Int(-t.significand) : t.significand;
    const Int cut = left >= 0 ? Int(magnitude << left) : Int(magnitude >> -left);
    s.sum += t.significand < 0 ? Int(-cut) : cut;
  }
  return s;
}

/// One block of finite operands (tensor_core.h).
inline uint32_t block(const TensorCoreArith& arith, Type at, Type bt, Type ct, const uint32_t* a, const uint32_t* b, int n, uint32_t c) {
  const auto add = [](std::vector<SignedTerm>& to, const Term& t) {
    to.push_back({t.negative ? Int(-t.magnitude) : t.magnitude, t.exponent, t.align});
  };
  std::vector<SignedTerm> terms;
  add(terms, term_of(ct, c));
  for (int i = 0; i < n; ++i) {
    const Term x = term_of(at, a[i]), y = term_of(bt, b[i]);
    add(terms, {x.magnitude * y.magnitude, x.exponent + y.exponent, x.align + y.align, x.negative != y.negative});
  }
  const auto [sum, exponent] = aligned_sum(terms, arith.fraction_bits, arith.min_exponent);
  if (sum == 0) return 0;
  if (arith.output == SumOutput::f16) return round_to_f16(sum, exponent);
  return cut_to_f32(sum, exponent, arith.output == SumOutput::f32_m13 ? 14 : 24);
}

}  // namespace tcsim::isa::exact
