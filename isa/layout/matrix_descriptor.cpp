#include "isa/layout/matrix_descriptor.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/check.h"

namespace tcsim::isa {
namespace {

constexpr uint64_t kFieldMask = 0x3fff;  // 14 bits, in units of 16 bytes
constexpr int kStartBit = 0, kLeadingBit = 16, kStrideBit = 32, kBaseOffsetBit = 49, kSwizzleBit = 62;
constexpr uint8_t kSwizzleBytes[4] = {0, 128, 64, 32};  // by the value of the wgmma field

uint32_t field(uint64_t bits, int at) { return static_cast<uint32_t>(bits >> at & kFieldMask) << 4; }
uint64_t to_field(uint32_t bytes, int at) { return (uint64_t{bytes} >> 4 & kFieldMask) << at; }

/// The leading offset has no meaning: pieces along K lie in one row of the pattern.
bool leading_ignored(const MatrixDescriptor& d, Major major) { return major == Major::k && d.swizzle_bytes != 0; }

}  // namespace

MatrixDescriptor decode_wgmma_descriptor(uint64_t bits) {
  return {field(bits, kStartBit),
          field(bits, kLeadingBit),
          field(bits, kStrideBit),
          static_cast<uint8_t>(bits >> kBaseOffsetBit & 7),
          kSwizzleBytes[bits >> kSwizzleBit],
          16};
}

uint64_t encode_wgmma_descriptor(const MatrixDescriptor& d) {
  uint64_t swizzle = 0;
  while (kSwizzleBytes[swizzle] != d.swizzle_bytes) TC_CHECK(++swizzle < 4, "swizzle of {} bytes", d.swizzle_bytes);
  return to_field(d.start, kStartBit) | to_field(d.leading, kLeadingBit) | to_field(d.stride, kStrideBit) |
         uint64_t{d.base_offset} << kBaseOffsetBit | swizzle << kSwizzleBit;
}

uint64_t unused_wgmma_bits(uint64_t bits) {
  constexpr uint64_t used =
      kFieldMask << kStartBit | kFieldMask << kLeadingBit | kFieldMask << kStrideBit | uint64_t{7} << kBaseOffsetBit | uint64_t{3} << kSwizzleBit;
  return bits & ~used;
}

DescriptorProblem check_descriptor(const MatrixDescriptor& d, Major major, uint32_t slice_bytes) {
  const uint32_t row = d.swizzle_bytes;
  if (row == 0) return {};
  const uint32_t pattern = row * (d.atom_bytes == 32 ? 4 : 8);
  const uint32_t in_row = d.start % row;
  if (major == Major::k && in_row + std::min(slice_bytes, row) > row)
    return {"bad-descriptor", fmt::format("start address {:#x} is byte {} of a {}-byte row of the swizzle pattern: the {} bytes along K would "
                                          "cross the row's end",
                                          d.start, in_row, row, slice_bytes)};
  // "Normally, matrix base offset is 0 when the start-address is aligned to the byte boundary of the repeating pattern.
  // Otherwise base offset = (pattern start addr >> 0x7) & 0x7". Inside a row the start may lie anywhere (steps along K).
  const uint32_t past = (d.start - 128u * d.base_offset) % pattern / row * row;
  if (past != 0)
    return {"misaligned",
            d.base_offset == 0
                ? fmt::format("start address {:#x} is {} bytes past a multiple of {}, where the {}-byte swizzle pattern starts; expected "
                              "address % {} < {}, or a base offset (it is 0)",
                              d.start, d.start % pattern, pattern, row, pattern, row)
                : fmt::format("start address {:#x} does not fit base offset {}: the {}-byte swizzle pattern starts at address % {} == {}, "
                              "this address is {} bytes past it",
                              d.start, d.base_offset, row, pattern, 128 * d.base_offset % pattern, past)};
  return {};
}

std::vector<std::string> wgmma_descriptor_notes(uint64_t bits, Major major, uint32_t matrix_bytes) {
  const MatrixDescriptor d = decode_wgmma_descriptor(bits);
  std::vector<std::string> notes;
  const auto too_far = [&](const char* name, uint32_t bytes) {
    // A byte count left undivided gives a multiple of 256; tiles of several instructions have steps of up to 8 KiB.
    constexpr uint32_t ordinary = 8192;
    if (bytes > std::max(matrix_bytes, ordinary) && bytes % 256 == 0)
      notes.push_back(fmt::format("{} field {} = {} B exceeds the matrix of {} B; fields count units of 16 bytes: was >> 4 forgotten?", name,
                                  bytes >> 4, bytes, matrix_bytes));
  };
  too_far("stride", d.stride);
  if (!leading_ignored(d, major)) too_far("leading", d.leading);
  if (const uint64_t unused = unused_wgmma_bits(bits))
    notes.push_back(fmt::format("bits {:#x} have no meaning and are not zero: was a field not masked to 14 bits?", unused));
  if (d.swizzle_bytes == 0 && d.base_offset != 0) notes.push_back(fmt::format("base offset {} has no meaning without a swizzle", d.base_offset));
  return notes;
}

std::string describe(const MatrixDescriptor& d, Major major) {
  const std::string leading = fmt::format("leading {} B{}", d.leading, leading_ignored(d, major) ? " (ignored: swizzled K-major)" : "");
  if (d.swizzle_bytes == 0) return fmt::format("start {:#x}, {}, stride {} B, no swizzle", d.start, leading, d.stride);
  const std::string rows = d.stride == 8u * d.swizzle_bytes ? fmt::format(" (8 rows x {} B)", d.swizzle_bytes) : "";
  return fmt::format("start {:#x}, {}, stride {} B{}, swizzle {} B{}, base offset {}", d.start, leading, d.stride, rows, d.swizzle_bytes,
                     d.atom_bytes == 32 ? " in units of 32" : "", d.base_offset);
}

uint64_t advance_wgmma_descriptor(uint64_t bits, uint32_t bytes) { return (bits & ~kFieldMask) | ((bits + (bytes >> 4)) & kFieldMask); }

}  // namespace tcsim::isa
