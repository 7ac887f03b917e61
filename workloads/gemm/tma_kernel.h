// What GEMM kernels fed by TMA share, whichever instruction multiplies: operands as boxes of swizzled rows in the buffers
// ("stages") of a pipeline, walks over stages with mbarrier parities, and the tile scheduler of persistent kernels.
//
// Kernel parameters: tensor maps of A and B, then C (a tensor map, or a pointer with the direct epilogue), then M, N, K (u32).
// Shared memory: `smem` (dynamic), aligned to 1024 bytes at run time, begins with [A tile, B tile] x stages.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "isa/layout/matrix_descriptor.h"
#include "workloads/gemm/common.h"

namespace tcsim::gemm {

class TmaKernel {
 protected:
  TmaKernel(const Config& config, uint32_t element_bits) : c_(config), bits_(element_bits) {}

  /// A or B: the tile of a stage in shared memory, as boxes that TMA writes.
  struct Operand {
    const char* name;
    uint32_t extent, tile;  // M or N of the problem, and rows (columns) of it that a stage of this CTA holds
    bool k_major;
    uint32_t peers;                                                   // CTAs that share the tile by multicast; each loads 1 / peers of it
    uint32_t row_bytes = 0;                                           // of the swizzled rows: 32, 64 or 128
    uint32_t box_inner = 0, box_outer = 0;                            // elements
    uint32_t bytes = 0;                                               // of the tile
    uint32_t region() const { return (bytes + 1023) / 1024 * 1024; }  // in shared memory: the next tile starts a swizzle period
    uint32_t base = 0;                                                // offset of the tile in a stage
    std::string map = "", rank = "";                                  // registers: address of the tensor map, this CTA's place among the peers
    std::string mask = "";                                            // register: CTAs of the multicast
    std::string first = "";                                           // register: first row (or column) of C that the tile belongs to
  };
  /// One TMA copy: offset in the tile, and where in the matrix relative to (first row, k).
  struct Box {
    uint32_t offset, row, k;
  };
  /// Registers of a walk over stages.
  struct Walk {
    std::string stage, phase;
  };
  struct Tile {
    std::string m, n;  // registers: indices
  };

  /// Errors of what any such kernel takes: layout, epilogue, raster, stages, extents that are multiples of tile x cluster.
  bool plan_common(Diagnostics& diags);
  /// Boxes and swizzle. mn_major: this type may lie M- or N-major.
  void plan_operand(Operand& o, bool mn_major, Diagnostics& diags);
  void fail(Diagnostics& diags, const std::string& text) const;

  void thread_setup();
  std::string map_parameter(int index);
  void cluster_ids();
  void sync_cluster_or_cta();
  void finish_kernel();
  std::string module_head(const std::string& target, const std::string& version) const;
  std::string module_tail(uint32_t threads, const std::string& more_parameters) const;
  std::vector<TensorMap> operand_maps() const;
  TensorMap result_map(uint32_t rows) const;
  std::array<uint32_t, 3> grid() const;

  std::vector<Box> boxes(const Operand& o) const;
  uint32_t step_offset(const Operand& o, uint32_t step) const;
  isa::MatrixDescriptor descriptor(const Operand& o) const;
  std::string bar_address(const std::string& bars, const std::string& index);
  Walk start_walk(uint32_t phase);
  void advance(const Walk& walk, uint32_t count);
  void advance(const Walk& walk) { advance(walk, c_.stages); }
  void wait(const std::string& label, const std::string& bars, const std::string& index, const std::string& parity, bool cluster = false);

  void scheduler_setup();
  Tile schedule(const std::string& tile);
  void persistent_step(const std::string& tile, uint32_t steps, const std::string& loop);

  virtual bool persistent() const = 0;
  bool clustered() const { return c_.cluster[0] * c_.cluster[1] > 1; }
  uint32_t out_bytes() const { return c_.out == "f16" || c_.out == "bf16" ? 2 : 4; }
  uint32_t k_bytes() const { return c_.tile[2] * bits_ / 8; }
  uint32_t instruction_k() const { return kStepBytes * 8 / bits_; }
  uint32_t steps() const { return c_.tile[2] / instruction_k(); }
  bool faulty(Fault f) const { return c_.fault == f; }

  static constexpr uint32_t kStepBytes = 32;      // of K that one instruction takes, whatever the type
  static constexpr uint32_t kMisalignment = 128;  // of the fault

  Config c_;
  uint32_t bits_;             // of an element
  uint32_t launch_regs_ = 0;  // .maxnreg; 0: none
  Writer w_;
  Operand a_{}, b_{};
  std::string tid_, warp_, lane_, m_, n_, k_, k_tiles_, base_, c_where_;
  std::string cluster_x_, cluster_y_, rank_;
  std::string tiles_m_, tiles_n_, tile_count_, tile_stride_, first_tile_;

 public:
  virtual ~TmaKernel() = default;
};

}  // namespace tcsim::gemm
