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

/// One block of finite operands (numbers.md-style description in tensor_core.h).
inline uint32_t block(const TensorCoreArith& arith, Type at, Type bt, Type ct, const uint32_t* a, const uint32_t* b, int n, uint32_t c) {
  std::vector<Term> terms{term_of(ct, c)};
  for (int i = 0; i < n; ++i) {
    const Term x = term_of(at, a[i]), y = term_of(bt, b[i]);
    terms.push_back({x.magnitude * y.magnitude, x.exponent + y.exponent, x.align + y.align, x.negative != y.negative});
  }
  int e = arith.min_exponent;
  for (const Term& t : terms)
    if (t.magnitude != 0) e = std::max(e, t.align);
  Int sum = 0;
  for (const Term& t : terms) {
    if (t.magnitude == 0) continue;
    const int left = t.exponent - (e - arith.fraction_bits);
    const Int cut = left >= 0 ? Int(t.magnitude << left) : Int(t.magnitude >> -left);
    sum += t.negative ? Int(-cut) : cut;
  }
  if (sum == 0) return 0;
  const int exponent = e - arith.fraction_bits;
  if (arith.output == SumOutput::f16) return round_to_f16(sum, exponent);
  return cut_to_f32(sum, exponent, arith.output == SumOutput::f32_m13 ? 14 : 24);
}

}  // namespace tcsim::isa::exact
