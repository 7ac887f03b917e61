// The walk of a bulk copy over global and shared memory: plain ranges, tiled boxes, im2col columns (PTX ISA, "Tensors").
//
//   for_each_row(copy, [](const BulkRow& row) { request(row.global, row.bytes); });        // what L2 is asked for
//   for_each_piece(copy, [](const BulkPiece& piece) { write(piece.shared, piece.bytes); }); // where bytes land
//
// Both go innermost dimension first. Shared offsets include copy.shared.offset (target.offset of shared_to_cluster) and the
// swizzle; with multicast they are the same in every target.
#pragma once
#include <algorithm>

#include "isa/exec/bulk_copy.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {

/// One row of the box: elements that are neighbours in dimension 0 (im2col: the channels of one pixel; interleaved: one
/// slice of one pixel). Counted in units (TensorMapUnit), which are whole elements or 16 packed ones.
struct BoxRow {
  uint64_t global = 0;  // address of unit 0, inside the tensor or not
  uint32_t linear = 0;  // offset in the box before swizzling
  uint32_t units = 0;
  uint32_t first = 0, last = 0;  // units [first, last) lie inside the tensor
};

namespace walk {

/// Units [first, last) of `units` from element c on that lie in [0, dim).
inline void clip(int64_t c, uint64_t dim, uint32_t unit_elements, BoxRow& row) {
  const int64_t per = unit_elements, low = c < 0 ? (-c + per - 1) / per : 0;
  const int64_t high = (static_cast<int64_t>(dim) - c + per - 1) / per;
  row.first = static_cast<uint32_t>(std::clamp<int64_t>(low, 0, row.units));
  row.last = static_cast<uint32_t>(std::clamp<int64_t>(high, row.first, row.units));
}

struct Slices {
  uint32_t bytes = 0, count = 1, step = 1;
  int64_t first = 0, available = 1;
  uint64_t pitch = 0;  // between slices in global memory
};

/// Interleaved layouts, NC/8HWC8 and NC/16HWC16: the channels are split into slices of 16 or 32 bytes, and a whole image of
/// one slice follows another. The manual does not say where the slices' distance comes from: the image has no padding.
inline Slices slices_of(const TensorMap& map, int64_t channel) {
  Slices s;
  const uint32_t element = unit_of(map.type).shared_bytes;
  s.bytes = map.interleave == TensorMap::Interleave::b16 ? 16 : 32;
  const int64_t per = s.bytes / element;
  s.count = map.interleaved_slices();
  s.step = map.element_strides[0];
  s.first = channel >= 0 ? channel / per : -((-channel + per - 1) / per);
  s.available = (static_cast<int64_t>(map.dims[0]) + per - 1) / per;
  const auto outermost = static_cast<size_t>(map.rank) - 2;  // spatial dimension
  s.pitch = map.strides[outermost - 1] * map.dims[outermost];
  return s;
}

/// f(outer, row) for the rows at one position of the dimensions above 0: `base` is the address of channel 0 there.
template <class F>
inline void rows_at(const TensorMap& map, int64_t channel, uint32_t elements, uint64_t base, bool inside, uint32_t linear, F&& f) {
  const TensorMapUnit unit = unit_of(map.type);
  BoxRow row;
  row.linear = linear;
  row.units = elements / unit.elements;
  const int64_t at = channel >= 0 ? channel / unit.elements : -((-channel) / static_cast<int64_t>(unit.elements));
  row.global = base + static_cast<uint64_t>(at * static_cast<int64_t>(unit.global_bytes));
  if (inside) clip(channel, map.dims[0], unit.elements, row);
  f(row);
}

template <class F>
inline void slice_row(const Slices& s, const TensorMap& map, uint32_t k, uint64_t base, bool inside, uint32_t linear, F&& f) {
  const int64_t slice = s.first + static_cast<int64_t>(k) * s.step;
  BoxRow row;
  row.linear = linear;
  row.units = s.bytes / unit_of(map.type).shared_bytes;
  row.global = base + static_cast<uint64_t>(slice) * s.pitch;
  if (inside && slice >= 0 && slice < s.available) row.last = row.units;
  f(row);
}

/// Positions of dimensions 1 to rank - 1 of a tiled box, innermost first: f(address of channel 0, inside).
template <class F>
inline void tiled_positions(const TensorMap& map, const BulkCopy& copy, int first, int end, uint64_t base, bool inside, F&& f) {
  std::array<uint32_t, TensorMap::kMaxRank> index{};
  for (;;) {
    uint64_t address = base;
    bool in = inside;
    for (int d = first; d < end; ++d) {
      const auto i = static_cast<size_t>(d);
      const int64_t at = int64_t{copy.coordinate[i]} + int64_t{index[i]} * map.element_strides[i];
      in &= at >= 0 && at < static_cast<int64_t>(map.dims[i]);
      address += static_cast<uint64_t>(at) * map.strides[i - 1];
    }
    f(address, in);
    int d = first;
    for (; d < end; ++d) {
      const auto i = static_cast<size_t>(d);
      if (++index[i] < map.count(d)) break;
      index[i] = 0;
    }
    if (d == end) return;
  }
}

/// The pixels of an im2col column: from the given one on through the pixel box, W first, then H, D and the next image.
template <class F>
inline void im2col_positions(const TensorMap& map, const BulkCopy& copy, F&& f) {
  const int spatial = map.spatial(), n = map.rank - 1;
  std::array<int64_t, TensorMap::kMaxRank> at{};
  for (int d = 1; d <= n; ++d) at[static_cast<size_t>(d)] = copy.coordinate[static_cast<size_t>(d)];
  for (uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    uint64_t address = map.address;
    bool in = true;
    for (int d = 1; d <= n; ++d) {
      const auto i = static_cast<size_t>(d);
      const int64_t c = at[i] + (d < n ? copy.im2col_offset[i - 1] : 0);
      in &= c >= 0 && c < static_cast<int64_t>(map.dims[i]);
      address += static_cast<uint64_t>(c) * map.strides[i - 1];
    }
    f(address, in);
    int d = 1;
    for (; d <= spatial; ++d) {
      const auto i = static_cast<size_t>(d);
      at[i] += map.element_strides[i];
      if (at[i] < static_cast<int64_t>(map.dims[i]) + map.upper[i - 1]) break;
      at[i] = map.lower[i - 1];
    }
    if (d > spatial) ++at[static_cast<size_t>(n)];
  }
}

}  // namespace walk

/// f(const BoxRow&) for a tensor copy.
template <class F>
inline void for_each_box_row(const BulkCopy& copy, F&& f) {
  const TensorMap& map = *copy.map;
  const int64_t channel = copy.coordinate[0];
  const bool im2col = map.mode == TensorMap::Mode::im2col;
  uint32_t linear = 0;
  if (map.interleave == TensorMap::Interleave::none) {
    const uint32_t elements = im2col ? map.channels : map.box[0], pitch = map.row_bytes();
    const auto row = [&](uint64_t base, bool inside) {
      walk::rows_at(map, channel, elements, base, inside, linear, f);
      linear += pitch;
    };
    if (im2col) walk::im2col_positions(map, copy, row);
    else walk::tiled_positions(map, copy, 1, map.rank, map.address, true, row);
    return;
  }
  const walk::Slices slices = walk::slices_of(map, channel);
  const auto one_slice = [&](uint32_t k, uint64_t base, bool inside) {
    walk::slice_row(slices, map, k, base, inside, linear, f);
    linear += slices.bytes;
  };
  if (im2col) {
    for (uint32_t k = 0; k < slices.count; ++k) walk::im2col_positions(map, copy, [&](uint64_t base, bool inside) { one_slice(k, base, inside); });
    return;
  }
  walk::tiled_positions(map, copy, map.rank - 1, map.rank, map.address, true, [&](uint64_t image, bool image_inside) {
    for (uint32_t k = 0; k < slices.count; ++k)
      walk::tiled_positions(map, copy, 1, map.rank - 1, image, image_inside, [&](uint64_t base, bool inside) { one_slice(k, base, inside); });
  });
}

template <class F>
inline void for_each_row(const BulkCopy& copy, F&& f) {
  if (!copy.map) return f(BulkRow{copy.global, copy.bytes, copy.bytes});
  const TensorMapUnit unit = unit_of(copy.map->type);
  for_each_box_row(copy, [&](const BoxRow& row) {
    f(BulkRow{row.global + uint64_t{row.first} * unit.global_bytes, (row.last - row.first) * unit.global_bytes, row.units * unit.shared_bytes});
  });
}

namespace walk {

/// Cuts `units` units from unit `first` of a row into pieces that stay together in shared memory.
template <class F>
inline void cut(const BulkCopy& copy, const BoxRow& row, uint32_t first, uint32_t last, bool inside, F&& f) {
  const TensorMapUnit unit = unit_of(copy.map->type);
  const TensorMap::Swizzling swizzle = copy.map->swizzle;
  const bool padded = unit.shared_bytes != unit.global_bytes;
  const uint32_t atom = swizzle == TensorMap::Swizzling::b128_atom_32b_flip_8b ? 8 : 16;
  const bool whole = swizzle == TensorMap::Swizzling::none && !padded;
  BulkPiece piece;
  piece.inside = inside;
  const uint32_t begin = copy.shared.offset + row.linear + first * unit.shared_bytes,
                 end = copy.shared.offset + row.linear + last * unit.shared_bytes;
  uint64_t global = row.global + uint64_t{first} * unit.global_bytes;
  for (uint32_t at = begin; at < end;) {
    const uint32_t next = whole ? end : std::min(end, (at / atom + 1) * atom);
    piece.global = global;
    piece.shared = swizzled(swizzle, at);
    piece.bytes = padded ? unit.global_bytes : next - at;
    f(piece);
    global += piece.bytes;
    at = next;
  }
}

}  // namespace walk

/// Padded packed types leave the rest of every 16 bytes of shared memory alone.
template <class F>
inline void for_each_piece(const BulkCopy& copy, F&& f) {
  if (!copy.map) {
    const bool to_cluster = copy.kind == BulkCopy::Kind::shared_to_cluster;
    return f(BulkPiece{copy.global, to_cluster ? copy.target.offset : copy.shared.offset, copy.bytes, true});
  }
  for_each_box_row(copy, [&](const BoxRow& row) {
    if (row.first > 0) walk::cut(copy, row, 0, row.first, false, f);
    walk::cut(copy, row, row.first, row.last, true, f);
    if (row.last < row.units) walk::cut(copy, row, row.last, row.units, false, f);
  });
}

}  // namespace tcsim::isa
