// Operands of wgmma and tcgen05.mma from shared memory, one element a word. Internal to isa/matrix.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isa/layout/matrix_descriptor.h"

namespace tcsim::isa {

/// What the 16 bytes of a piece hold: elements of 8, 16 or 32 bits; 16 of 6 or 4 bits with padding behind them (PTX ISA, "Packing
/// format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory"; TMA's 16U6_ALIGN16B and 16U4_ALIGN16B); or 32 of 4 bits.
enum class PieceFormat : uint8_t { b8, b16, b32, b6_padded, b4_padded, b4_packed };
constexpr int elements_of(PieceFormat f) { return f == PieceFormat::b16 ? 8 : f == PieceFormat::b32 ? 4 : f == PieceFormat::b4_packed ? 32 : 16; }
constexpr PieceFormat piece_format(int bits) { return bits == 8 ? PieceFormat::b8 : bits == 16 ? PieceFormat::b16 : PieceFormat::b32; }

/// The elements of one piece, zero-extended (sign-extended where `is_signed`), `step` words apart.
template <PieceFormat kFormat>
void widen(const uint8_t* from, bool is_signed, uint32_t* out, int step) {
  constexpr int count = elements_of(kFormat);
  if constexpr (kFormat <= PieceFormat::b32) {
    using E = std::conditional_t<kFormat == PieceFormat::b8, uint8_t, std::conditional_t<kFormat == PieceFormat::b16, uint16_t, uint32_t>>;
    E e[count];
    std::memcpy(e, from, 16);
    if (is_signed) {
      for (int i = 0; i < count; ++i) out[i * step] = static_cast<uint32_t>(static_cast<int32_t>(static_cast<std::make_signed_t<E>>(e[i])));
    } else {
      for (int i = 0; i < count; ++i) out[i * step] = e[i];
    }
  } else {
    constexpr int bits = kFormat == PieceFormat::b6_padded ? 6 : 4;
    unsigned __int128 all;
    std::memcpy(&all, from, 16);
    for (int i = 0; i < count; ++i) out[i * step] = static_cast<uint32_t>(all >> (i * bits)) & ((1u << bits) - 1);
  }
}

/// Reads an operand: lines along M or N ("rows") of K elements become words.
struct Gather {
  MatrixAddress address;
  Major major;
  const uint8_t* memory;
  PieceFormat format;
  bool is_signed;

  /// Element (first + row, k) goes to out[row * row_step + k * k_step]. MN-major: first and count are multiples of a piece's elements.
  void rows(uint32_t first, uint32_t count, int k, uint32_t* out, int row_step, int k_step) const {
    dispatch([&](auto f) { rows_as<decltype(f)::value>(first, count, k, out, row_step, k_step); });
  }
  /// Element (row, k) goes to out[(row / 8 * k_count + k) * 8 + row % 8]: the panels of float_tile. count is a multiple of 8.
  void panels(uint32_t count, int k, uint32_t* out) const {
    if (major == Major::k || elements_of(format) <= 8) {
      const uint32_t step = 8;
      for (uint32_t row = 0; row < count; row += step) rows(row, step, k, out + static_cast<size_t>(row) * static_cast<size_t>(k), 1, 8);
      return;
    }
    uint32_t line[16];
    for (uint32_t row = 0; row < count; row += 16)
      for (int kk = 0; kk < k; ++kk) {
        widen<PieceFormat::b8>(memory + address.piece(static_cast<uint32_t>(kk), row / 16), is_signed, line, 1);
        uint32_t* const to = out + static_cast<size_t>(row) * static_cast<size_t>(k) + static_cast<size_t>(kk) * 8;
        std::memcpy(to, line, 32);
        std::memcpy(to + static_cast<size_t>(k) * 8, line + 8, 32);
      }
  }

 private:
  template <class F>
  void dispatch(F&& f) const {
    using P = PieceFormat;
    switch (format) {
      case P::b8: return f(std::integral_constant<P, P::b8>{});
      case P::b16: return f(std::integral_constant<P, P::b16>{});
      case P::b32: return f(std::integral_constant<P, P::b32>{});
      case P::b6_padded: return f(std::integral_constant<P, P::b6_padded>{});
      case P::b4_padded: return f(std::integral_constant<P, P::b4_padded>{});
      case P::b4_packed: return f(std::integral_constant<P, P::b4_packed>{});
    }
  }
  template <PieceFormat kFormat>
  void rows_as(uint32_t first, uint32_t count, int k, uint32_t* out, int row_step, int k_step) const {
    constexpr int per = elements_of(kFormat);
    const auto words = static_cast<uint32_t>(k);
    if (major == Major::k) {
      for (uint32_t r = 0; r < count; ++r)
        for (uint32_t p = 0; p < words / per; ++p)
          widen<kFormat>(memory + address.piece(first + r, p), is_signed, out + static_cast<int>(r) * row_step + static_cast<int>(p) * per * k_step,
                         k_step);
    } else {
      for (uint32_t line = 0; line < words; ++line)
        for (uint32_t p = 0; p < count / per; ++p)
          widen<kFormat>(memory + address.piece(line, first / per + p), is_signed,
                         out + static_cast<int>(p) * per * row_step + static_cast<int>(line) * k_step, row_step);
    }
  }
};

}  // namespace tcsim::isa
