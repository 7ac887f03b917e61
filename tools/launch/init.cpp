#include "tools/launch/init.h"

#include "isa/check.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

double normal(uint64_t seed, uint64_t index) {
  uint64_t sum = 0;
  for (uint32_t draw = 0; draw < 6; ++draw) {
    const uint64_t word = random_word(seed, index, draw);
    sum += (word >> 32) + (word & 0xffffffffu);
  }
  return (static_cast<double>(sum) - 6 * 4294967296.0) / 4294967296.0;  // exact: the sum has at most 36 bits
}

double uniform(uint64_t seed, uint64_t index) {
  return static_cast<double>(random_word(seed, index, 0) >> 11) / 4503599627370496.0 - 1.0;  // 2^52
}

/// First integer n such that n is exact and n + 1 is not, plus one; 0: all of 64 bits.
uint64_t iota_period(isa::Type dtype) {
  using isa::Type;
  switch (dtype) {
    case Type::f16: return (1u << 11) + 1;
    case Type::tf32: return (1u << 11) + 1;
    case Type::bf16: return (1u << 8) + 1;
    case Type::f32: return (1u << 24) + 1;
    case Type::f64: return (uint64_t{1} << 53) + 1;
    case Type::e4m3:
    case Type::ue4m3:
    case Type::e2m3: return dtype == Type::e2m3 ? 8 : 17;  // e2m3 ends at 7.5
    case Type::e5m2:
    case Type::e3m2: return 9;
    case Type::e2m1: return 5;  // 0 1 2 3 4 (6)
    default: return 0;
  }
}

uint64_t mask_of(isa::Type dtype) {
  const int bits = wl::storage_bits(dtype);
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

}  // namespace

uint64_t random_word(uint64_t seed, uint64_t index, uint32_t draw) { return mix(mix(seed) + 8 * index + draw); }

uint64_t initial_bits(Init init, isa::Type dtype, uint64_t seed, uint64_t index) {
  const bool integer = wl::is_integer(dtype);
  const uint64_t word = random_word(seed, index, 0);
  if (init == Init::zeros) return 0;
  if (init == Init::iota) {
    const uint64_t period = iota_period(dtype);
    if (dtype == isa::Type::ue8m0) return index % 255;  // the encodings in order; 255 is NaN
    return period ? wl::encode(dtype, static_cast<double>(index % period)) : index & mask_of(dtype);
  }
  if (dtype == isa::Type::ue8m0) return init == Init::integers ? 127 + (word >> 62) : 125 + (word >> 32) % 5;
  if (init == Init::integers) {
    if (dtype == isa::Type::b1) return word >> 63;
    const bool no_sign = isa::is_unsigned(dtype) || dtype == isa::Type::ue4m3;
    const int64_t value = no_sign ? static_cast<int64_t>(word >> 62) : static_cast<int64_t>((word >> 32) % 7) - 3;
    return integer ? static_cast<uint64_t>(value) & mask_of(dtype) : wl::encode(dtype, static_cast<double>(value));
  }
  if (init == Init::uniform && integer) return word & mask_of(dtype);
  TC_CHECK(init == Init::uniform || init == Init::normal, "init {}", static_cast<int>(init));
  const double value = init == Init::uniform ? uniform(seed, index) : normal(seed, index);
  return wl::encode(dtype, dtype == isa::Type::ue4m3 && value < 0 ? -value : value);
}

void fill(const BufferSpec& buffer, uint64_t seed, std::span<uint8_t> bytes) {
  if (buffer.init == Init::zeros || buffer.init == Init::poison) return;
  for_elements(buffer,
               [&](uint64_t dense, uint64_t at) { wl::store_bits(bytes, buffer.dtype, at, initial_bits(buffer.init, buffer.dtype, seed, dense)); });
}

}  // namespace tcsim::launch
