// Elements of buffers: how each dtype of the launch file is stored, and its value.
//
// Storage is little-endian and dense: 4-bit elements two a byte, b1 eight a byte, low bits first; the 6-bit
// types take a byte each (the container that mma.sync uses); tf32 takes four bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/type.h"

namespace tcsim::wl {

/// The words of the launch file, in the contract's order.
const std::vector<std::string>& dtype_names();
std::optional<isa::Type> dtype_from_name(std::string_view text);
/// Bits that one element takes in memory.
int storage_bits(isa::Type type);
/// True for the integer types and b1: values are exact int64 (u64: modulo 2^64).
bool is_integer(isa::Type type);

/// Value of an element's bits, and back: round to nearest even, saturating where the type has no infinity.
double decode(isa::Type type, uint64_t bits);
uint64_t encode(isa::Type type, double value);
/// Integers only: sign- or zero-extended.
int64_t decode_integer(isa::Type type, uint64_t bits);

/// Bits of element `index` of a dense array.
uint64_t load_bits(std::span<const uint8_t> bytes, isa::Type type, uint64_t index);
void store_bits(std::span<uint8_t> bytes, isa::Type type, uint64_t index, uint64_t bits);

inline double load(std::span<const uint8_t> bytes, isa::Type type, uint64_t index) { return decode(type, load_bits(bytes, type, index)); }

/// Distance from |value| to the next representable value of a floating type above it, for "units in the last
/// place". Integers: 1.
double ulp(isa::Type type, double value);

}  // namespace tcsim::wl
