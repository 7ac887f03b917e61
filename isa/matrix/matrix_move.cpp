#include "isa/matrix/matrix_move.h"

#include <algorithm>
#include <cstring>

namespace tcsim::isa {
namespace {

uint32_t half_at(const uint8_t* row, int col) {
  uint16_t h;
  std::memcpy(&h, row + 2 * col, 2);
  return h;
}

uint32_t element_at(const uint8_t* row, int i, int bits) {
  const int bit = i * bits;
  uint32_t raw = row[bit / 8];
  if (bit % 8 + bits > 8) raw |= static_cast<uint32_t>(row[bit / 8 + 1]) << 8;
  return (raw >> (bit % 8)) & ((1u << bits) - 1);
}

}  // namespace

void ldmatrix_m8n16(uint32_t* const* d, const uint8_t* const* row, int count, int bits) {
  for (int j = 0; j < count; ++j)
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t word = 0;
      for (int b = 0; b < 4; ++b) word |= element_at(row[8 * j + lane / 4], 4 * (lane % 4) + b, bits) << (8 * b);
      d[j][lane] = word;
    }
}

void ldmatrix_m16n16_trans(uint32_t* const* d, const uint8_t* const* row, int count, int bits) {
  for (int r = 0; r < 2 * count; ++r)
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t word = 0;
      for (int b = 0; b < 4; ++b) word |= element_at(row[16 * (r / 2) + 4 * (lane % 4) + b], lane / 4 + 8 * (r % 2), bits) << (8 * b);
      d[r][lane] = word;
    }
}

void stmatrix_m16n8_trans(uint8_t* const* row, const uint32_t* const* a, int count) {
  for (int i = 0; i < 8 * count; ++i) {
    const uint32_t* const reg = a[i / 8];
    for (int r = 0; r < 16; ++r) row[i][r] = static_cast<uint8_t>(reg[r % 8 * 4 + i % 8 / 2] >> (8 * (i % 2 + 2 * (r / 8))));
  }
}

void ldmatrix(uint32_t* const* d, const uint8_t* const* row, int count, bool trans) {
  for (int j = 0; j < count; ++j) {
    const uint8_t* const* rows = row + 8 * j;
    for (int lane = 0; lane < 32; ++lane) {
      const int r = lane / 4, c = 2 * (lane % 4);
      if (trans) d[j][lane] = half_at(rows[c], r) | half_at(rows[c + 1], r) << 16;
      else std::memcpy(&d[j][lane], rows[r] + 2 * c, 4);
    }
  }
}

void stmatrix(uint8_t* const* row, const uint32_t* const* a, int count, bool trans) {
  for (int i = 0; i < 8 * count; ++i) {
    const uint32_t* const reg = a[i / 8];
    uint16_t out[8];
    for (int c = 0; c < 8; ++c) {
      const int r = trans ? c : i % 8, k = trans ? i % 8 : c;
      out[c] = static_cast<uint16_t>(reg[r * 4 + k / 2] >> (16 * (k % 2)));
    }
    std::memcpy(row[i], out, 16);
  }
}

void movmatrix(uint32_t* d, const uint32_t* a) {
  uint32_t out[32];
  for (int lane = 0; lane < 32; ++lane) {
    const int r = lane / 4, c = 2 * (lane % 4);  // D(r, c) = A(c, r)
    const auto at = [&](int row, int col) { return (a[row * 4 + col / 2] >> (16 * (col % 2))) & 0xffffu; };
    out[lane] = at(c, r) | at(c + 1, r) << 16;
  }
  std::memcpy(d, out, sizeof out);
}

std::optional<WmmaAccess> WmmaAccess::make(MatrixShape shape, MatrixRole role, Type type, MatrixOrder order) {
  const auto spec = fragment_spec(MatrixFamily::wmma, shape, role, type, order);
  if (!spec) return std::nullopt;
  return WmmaAccess(FragmentMap(*spec), order);
}

WmmaAccess::WmmaAccess(FragmentMap map, MatrixOrder order) : map_(std::move(map)), order_(order) {
  const bool row_major = order == MatrixOrder::row;
  const auto minor = [&](const Element& e) { return row_major ? e.col : e.row; };
  const auto major = [&](const Element& e) { return row_major ? e.row : e.col; };
  for (int reg = 0; reg < map_.registers(); ++reg)
    for (int lane = 0; lane < 32; ++lane)
      for (int sub = 0; sub < map_.per_register();) {
        const Element first = map_.element(lane, reg, sub);
        int n = 1;
        while (sub + n < map_.per_register()) {
          const Element next = map_.element(lane, reg, sub + n);
          if (major(next) != major(first) || minor(next) != minor(first) + n) break;
          ++n;
        }
        pieces_.push_back({static_cast<uint8_t>(reg), static_cast<uint8_t>(lane), static_cast<uint8_t>(sub * map_.element_bits()),
                           static_cast<uint8_t>(n * map_.element_bits()), first.row, first.col});
        sub += n;
      }
}

uint64_t WmmaAccess::byte_offset(const WmmaPiece& piece, uint64_t stride_elements) const {
  const bool row_major = order_ == MatrixOrder::row;
  const auto major = static_cast<uint64_t>(row_major ? piece.row : piece.col);
  const auto minor = static_cast<uint64_t>(row_major ? piece.col : piece.row);
  return (major * stride_elements + minor) * static_cast<uint64_t>(map_.element_bits()) / 8;
}

std::vector<WmmaWideAccess> volta_wmma_accesses(MatrixShape shape, MatrixRole role, Type type, MatrixOrder order) {
  const auto spec = fragment_spec(MatrixFamily::mma, {8, 8, 4}, role, type, order);
  if (!spec || type == Type::f64) return {};
  const bool row_major = order == MatrixOrder::row, a = role == MatrixRole::a, b = role == MatrixRole::b;
  const int steps = a || b ? shape.k / 4 : 1, per_access = 128 / spec->element_bits;
  std::vector<WmmaWideAccess> out;
  for (int lane = 0; lane < 32; ++lane) {
    size_t access = 0;
    int length = 0;
    Element last;
    for (int i = 0; i < steps * spec->registers * spec->per_register(); ++i) {
      const int per_step = spec->registers * spec->per_register(), in_step = i % per_step;
      Element e = element_at(*spec, lane, in_step / spec->per_register(), in_step % spec->per_register());
      const int q = e.tile, down = shape.n == 8 ? q : shape.m == 8 ? 0 : q % 2, across = shape.m == 8 ? q : shape.n == 8 ? 0 : q / 2;
      e.row = static_cast<int16_t>(e.row + (b ? 4 * (i / per_step) : 8 * down));
      e.col = static_cast<int16_t>(e.col + (a ? 4 * (i / per_step) : 8 * across));
      const bool follows = row_major ? e.row == last.row && e.col == last.col + 1 : e.col == last.col && e.row == last.row + 1;
      if (i == 0 || !follows || length == per_access) {
        if (i > 0) ++access;
        if (out.size() <= access) out.emplace_back();
        out[access].first[static_cast<size_t>(lane)] = e;
        length = 0;
      }
      out[access].bytes = static_cast<uint32_t>(++length * spec->element_bits / 8);
      last = e;
    }
  }
  return out;
}

}  // namespace tcsim::isa
