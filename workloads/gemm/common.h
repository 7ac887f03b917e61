// Pieces that several generators share: checks of the configuration, the module frame, launch files.
#pragma once
#include <string>
#include <vector>

#include "workloads/gemm/gemm.h"
#include "workloads/gemm/types.h"
#include "workloads/gemm/writer.h"

namespace tcsim::gemm {

/// A shared-memory tile of `rows` rows of `row_bytes`, with the layout that the swizzle names. The unit of every layout is
/// 16 bytes (one ldmatrix row, one cp.async).
struct SmemTile {
  uint32_t rows = 0, row_bytes = 0;
  std::string swizzle = "none";

  uint32_t pitch() const { return swizzle == "padded" ? row_bytes + 16 : row_bytes; }
  uint32_t bytes() const { return rows * pitch(); }
  uint32_t chunks() const { return row_bytes / 16; }
  /// Xor layout: chunk c of row r lies at c ^ (r / rows_per_period & mask). Eight consecutive rows then fall into the
  /// eight different 16-byte bank groups. Shift and mask of r.
  uint32_t xor_shift() const { return chunks() >= 8 ? 0 : chunks() == 4 ? 1 : chunks() == 2 ? 2 : 3; }
  uint32_t xor_mask() const { return std::min<uint32_t>(chunks(), 8) - 1; }
  /// The same on the host, for tests: byte offset of chunk c of row r.
  uint32_t offset(uint32_t row, uint32_t chunk) const {
    if (swizzle == "xor") chunk ^= row >> xor_shift() & xor_mask();
    return row * pitch() + chunk * 16;
  }
};

/// Emits the byte offset of (row, chunk) held in registers into a new register.
std::string emit_offset(Writer& w, const SmemTile& tile, const std::string& row, const std::string& chunk);

/// dst = value of a kernel parameter pointer, as a global address.
std::string load_pointer(Writer& w, const std::string& entry, int index);

/// The whole module around a body.
std::string module_text(const Config& config, const std::string& entry, const Writer& w, uint32_t threads, uint32_t ptx_minor);

/// Launch file for C = A B with buffers named A, B, C.
std::string launch_text(const Config& config, const Program& program, const std::string& in_type, const std::string& out_type);

/// False (with an error each) when a tile cannot be split over warps or instructions.
bool check_config(const Config& config, Diagnostics& diags);
void config_error(Diagnostics& diags, const std::string& text);

Program generate_wmma(const Config& config, Diagnostics& diags);
Program generate_simt(const Config& config, Diagnostics& diags);

}  // namespace tcsim::gemm
