#include "workloads/common/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/check.h"

namespace tcsim::wl {
namespace {

using isa::Type;

struct Word {
  const char* text;
  Type type;
  int bits;
};
constexpr Word kWords[] = {{"f16", Type::f16, 16},   {"bf16", Type::bf16, 16}, {"tf32", Type::tf32, 32}, {"f32", Type::f32, 32},
                           {"f64", Type::f64, 64},   {"e4m3", Type::e4m3, 8},  {"e5m2", Type::e5m2, 8},  {"e3m2", Type::e3m2, 8},
                           {"e2m3", Type::e2m3, 8},  {"e2m1", Type::e2m1, 4},  {"ue8m0", Type::ue8m0, 8}, {"ue4m3", Type::ue4m3, 8},
                           {"s8", Type::s8, 8},      {"u8", Type::u8, 8},      {"s4", Type::s4, 4},      {"u4", Type::u4, 4},
                           {"b1", Type::b1, 1},      {"s32", Type::s32, 32},   {"u32", Type::u32, 32},   {"s64", Type::s64, 64},
                           {"u64", Type::u64, 64}};

/// A small float: sign, exponent, mantissa. top: what the largest exponent means.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  enum class Top : uint8_t { ieee, nan_only, numbers } top;  // inf and NaN; one NaN (all ones); neither
};

FloatFormat format_of(Type type) {
  using Top = FloatFormat::Top;
  switch (type) {
  case Type::f16: return {5, 10, 15, Top::ieee};
  case Type::bf16: return {8, 7, 127, Top::ieee};
  case Type::tf32: return {8, 10, 127, Top::ieee};
  case Type::f32: return {8, 23, 127, Top::ieee};
  case Type::f64: return {11, 52, 1023, Top::ieee};
  case Type::e5m2: return {5, 2, 15, Top::ieee};
  case Type::e4m3:
  case Type::ue4m3: return {4, 3, 7, Top::nan_only};
  case Type::e3m2: return {3, 2, 3, Top::numbers};
  case Type::e2m3: return {2, 3, 1, Top::numbers};
  case Type::e2m1: return {2, 1, 1, Top::numbers};
  default: break;
  }
  TC_CHECK(false, "{} is not a floating format", isa::name(type));
  return {};
}

double largest(const FloatFormat& f) {
  const int top = (1 << f.exponent_bits) - 1 - (f.top == FloatFormat::Top::ieee ? 1 : 0) - f.bias;
  const double mantissa = 2.0 - std::ldexp(f.top == FloatFormat::Top::nan_only ? 2.0 : 1.0, -f.mantissa_bits);
  return std::ldexp(mantissa, top);
}

double decode_small(const FloatFormat& f, uint64_t bits) {
  const uint64_t mantissa = bits & ((1ull << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const bool negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1;
  const bool top = exponent == (1 << f.exponent_bits) - 1;
  double value = 0;
  if (top && f.top == FloatFormat::Top::ieee)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (top && f.top == FloatFormat::Top::nan_only && mantissa == (1ull << f.mantissa_bits) - 1)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0) value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
  else value = std::ldexp(static_cast<double>(mantissa | 1ull << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

uint64_t encode_small(const FloatFormat& f, double value) {
  const uint64_t sign = static_cast<uint64_t>(std::signbit(value)) << (f.mantissa_bits + f.exponent_bits);
  const uint64_t exponent_ones = ((1ull << f.exponent_bits) - 1) << f.mantissa_bits, mantissa_ones = (1ull << f.mantissa_bits) - 1;
  const double max = largest(f);
  double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    if (f.top != FloatFormat::Top::numbers) return exponent_ones | mantissa_ones;
    magnitude = max;  // the finite formats have no NaN; cvt gives the largest value
  }
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(std::min(magnitude, std::numeric_limits<double>::max())), 1 - f.bias);
  const double unit = std::ldexp(1.0, exponent - f.mantissa_bits);
  const double rounded = std::nearbyint(magnitude / unit) * unit;  // exact scaling; ties to even
  if (rounded > max) {
    if (f.top == FloatFormat::Top::ieee) return sign | exponent_ones;  // infinity
    return encode_small(f, std::copysign(max, value));
  }
  const int final_exponent = std::max(std::ilogb(rounded), 1 - f.bias);
  const auto significand = static_cast<uint64_t>(std::ldexp(rounded, f.mantissa_bits - final_exponent));
  if (significand < 1ull << f.mantissa_bits) return sign | significand;  // subnormal
  return sign | static_cast<uint64_t>(final_exponent + f.bias) << f.mantissa_bits | (significand & mantissa_ones);
}

}  // namespace

const std::vector<std::string>& dtype_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Word& word : kWords) out.emplace_back(word.text);
    return out;
  }();
  return names;
}

std::optional<Type> dtype_from_name(std::string_view text) {
  for (const Word& word : kWords)
    if (word.text == text) return word.type;
  return std::nullopt;
}

int storage_bits(Type type) {
  for (const Word& word : kWords)
    if (word.type == type) return word.bits;
  const int width = isa::bits(type);
  TC_CHECK(width > 0, "{} has no storage", isa::name(type));
  return width;
}

bool is_integer(Type type) { return isa::is_signed(type) || isa::is_unsigned(type) || type == Type::b1; }

int64_t decode_integer(Type type, uint64_t bits) {
  if (!isa::is_signed(type)) return static_cast<int64_t>(bits);
  const int unused = 64 - storage_bits(type);
  return static_cast<int64_t>(bits << unused) >> unused;
}

double decode(Type type, uint64_t bits) {
  if (type == Type::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == Type::f64) return std::bit_cast<double>(bits);
  if (type == Type::tf32) return std::bit_cast<float>(static_cast<uint32_t>(bits & 0xffffe000u));  // what the tensor core reads
  if (type == Type::u64) return static_cast<double>(bits);
  if (is_integer(type)) return static_cast<double>(decode_integer(type, bits));
  if (type == Type::ue8m0) return bits == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
  static const std::vector<double> halves = [] {  // f16 is by far the commonest: 65536 values by table
    std::vector<double> out(65536);
    for (uint32_t i = 0; i < 65536; ++i) out[i] = decode_small(format_of(Type::f16), i);
    return out;
  }();
  if (type == Type::f16) return halves[bits & 0xffff];
  if (type == Type::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return decode_small(format_of(type), bits);
}

uint64_t encode(Type type, double value) {
  if (type == Type::f64) return std::bit_cast<uint64_t>(value);
  if (type == Type::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == Type::tf32) return encode_small(format_of(type), value) << 13;
  if (is_integer(type)) {
    const int width = storage_bits(type);
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    return static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(value))) & mask;
  }
  if (type == Type::ue8m0) return static_cast<uint64_t>(std::clamp(std::ilogb(value) + 127, 0, 254));
  return encode_small(format_of(type), value);
}

uint64_t load_bits(std::span<const uint8_t> bytes, Type type, uint64_t index) {
  const int width = storage_bits(type);
  if (width < 8) {
    const uint64_t bit = index * static_cast<uint64_t>(width);
    return bytes[bit / 8] >> (bit % 8) & ((1u << width) - 1);
  }
  uint64_t out = 0;
  const uint64_t size = static_cast<uint64_t>(width) / 8;
  std::memcpy(&out, bytes.data() + index * size, size);
  return out;
}

void store_bits(std::span<uint8_t> bytes, Type type, uint64_t index, uint64_t bits) {
  const int width = storage_bits(type);
  if (width < 8) {
    const uint64_t bit = index * static_cast<uint64_t>(width);
    const uint32_t mask = ((1u << width) - 1) << (bit % 8);
    uint8_t& byte = bytes[bit / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint32_t>(bits) << (bit % 8) & mask));
    return;
  }
  const uint64_t size = static_cast<uint64_t>(width) / 8;
  std::memcpy(bytes.data() + index * size, &bits, size);
}

double ulp(Type type, double value) {
  if (is_integer(type)) return 1;
  if (type == Type::ue8m0) return std::fabs(value);
  const FloatFormat f = format_of(type);
  const double magnitude = std::min(std::fabs(value), largest(f));
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), 1 - f.bias) : 1 - f.bias;
  return std::ldexp(1.0, exponent - f.mantissa_bits);
}

}  // namespace tcsim::wl
