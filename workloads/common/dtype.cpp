#include "workloads/common/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/check.h"
#include "isa/numeric/formats.h"

namespace tcsim::wl {
namespace {

using isa::Type;

struct Word {
  const char* text;
  Type type;
  int bits;
};
constexpr Word kWords[] = {{"f16", Type::f16, 16},  {"bf16", Type::bf16, 16}, {"tf32", Type::tf32, 32},  {"f32", Type::f32, 32},
                           {"f64", Type::f64, 64},  {"e4m3", Type::e4m3, 8},  {"e5m2", Type::e5m2, 8},   {"e3m2", Type::e3m2, 8},
                           {"e2m3", Type::e2m3, 8}, {"e2m1", Type::e2m1, 4},  {"ue8m0", Type::ue8m0, 8}, {"ue4m3", Type::ue4m3, 8},
                           {"s8", Type::s8, 8},     {"u8", Type::u8, 8},      {"s4", Type::s4, 4},       {"u4", Type::u4, 4},
                           {"b1", Type::b1, 1},     {"s32", Type::s32, 32},   {"u32", Type::u32, 32},    {"s64", Type::s64, 64},
                           {"u64", Type::u64, 64}};

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
  if (type == Type::u64) return static_cast<double>(bits);
  if (is_integer(type)) return static_cast<double>(decode_integer(type, bits));
  static const std::vector<double> halves = [] {  // f16 is by far the commonest: 65536 values by table
    std::vector<double> out(65536);
    for (uint32_t i = 0; i < 65536; ++i) out[i] = std::bit_cast<double>(isa::convert(Type::f16, Type::f64, i));
    return out;
  }();
  if (type == Type::f16) return halves[bits & 0xffff];
  if (type == Type::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return std::bit_cast<double>(isa::convert(type, Type::f64, bits));
}

uint64_t encode(Type type, double value) {
  if (type == Type::f64) return std::bit_cast<uint64_t>(value);
  if (type == Type::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (is_integer(type)) {
    const int width = storage_bits(type);
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    return static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(value))) & mask;
  }
  return isa::convert(Type::f64, type, std::bit_cast<uint64_t>(value), {.satfinite = !isa::traits(type).has_inf});
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
  const isa::FormatTraits f = isa::traits(type);
  const double top = std::ldexp(1.0, static_cast<int>(f.exponent_mask()) - f.bias);  // beyond the largest exponent there is no step
  const double magnitude = std::min(std::fabs(value), top);
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), f.min_exponent()) : f.min_exponent();
  return std::ldexp(1.0, exponent - f.mantissa);
}

}  // namespace tcsim::wl
