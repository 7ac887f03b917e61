// The launch file: what to run a kernel with. Parsing knows nothing of the kernel; prepare.h binds the two.
//
//   Diagnostics diags;
//   auto file = launch::parse_launch_file("l.toml", text, diags);   // nullopt, or diags.has_errors(): bad
//   input
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diag.h"
#include "isa/exec/warp.h"
#include "isa/layout/tensor_map.h"
#include "isa/type.h"

namespace tcsim::launch {

struct Node;

/// A pointer or a tensor map that is written at `offset` into bytes.
struct Patch {
  Place place;
  uint64_t offset = 0;
  std::string buffer, tensormap;  // exactly one is set
  int64_t offset_bytes = 0;
};

struct Argument {
  enum class Kind : uint8_t { buffer, tensormap, bytes, null, scalar };
  Place place;
  Kind kind = Kind::scalar;
  std::string name;                  // buffer or tensor map
  int64_t offset_bytes = 0;          // of a buffer
  isa::Type type = isa::Type::none;  // of a scalar
  std::vector<uint8_t> bytes;        // scalar (little-endian) or bytes
  std::vector<Patch> patches;
};

struct LaunchSpec {
  Place place;
  std::string entry;  // empty: the module's only entry
  Place entry_place, grid_place, block_place, args_place, smem_place;
  isa::Dim3 grid;
  std::optional<isa::Dim3> block, cluster;
  std::optional<uint32_t> dynamic_smem_bytes;
  std::vector<Argument> args;
};

enum class Init : uint8_t { normal, uniform, integers, zeros, iota, poison, file };

struct BufferSpec {
  Place place;
  std::string name;
  isa::Type dtype = isa::Type::none;
  std::vector<int64_t> shape, strides;  // in elements; strides are always filled in
  Init init = Init::zeros;
  std::string file;  // of Init::file, relative to the launch file's folder
  std::optional<uint64_t> seed;
  uint64_t align_bytes = 256;
  std::vector<Patch> patches;

  uint64_t elements() const;  // of the shape
  uint64_t bytes() const;     // allocated, padding included
};

/// [tensormap.NAME]. The map's address is the offset in the buffer until prepare() knows where that lies.
struct TensorMapSpec {
  Place place;
  std::string name, buffer;
  isa::TensorMap map;
};

/// [symbol.NAME]: a module's global or constant. buffer: a pointer variable (8 bytes, .b64 or .u64) gets the
/// buffer's address, any other variable a copy of the buffer's bytes.
struct SymbolSpec {
  Place place;
  std::string name, buffer;
  int64_t offset_bytes = 0;
  std::vector<uint8_t> bytes;
};

struct GemmCheck {
  Place place;
  std::string a, b, c, d;  // d: where the result is (c unless given)
  bool trans_a = false, trans_b = false, trans_c = false;
  double alpha = 1, beta = 0;
  std::string sfa, sfb;
  int64_t scale_block = 0;
};

struct CheckSpec {
  Place place;
  std::optional<GemmCheck> gemm;
  struct Equals {
    Place place;
    std::string buffer, file;
  };
  std::vector<Equals> equals;
  double rtol = 1e-2, atol = 1e-2;
};

struct LaunchFile {
  std::string path;
  std::vector<LaunchSpec> launches;
  std::vector<BufferSpec> buffers;
  std::vector<TensorMapSpec> tensormaps;
  std::vector<SymbolSpec> symbols;
  std::optional<CheckSpec> check;

  const BufferSpec* find_buffer(std::string_view name) const;
  const TensorMapSpec* find_tensormap(std::string_view name) const;
  /// A path of the launch file, relative to its folder.
  std::string resolve(std::string_view file) const;
};

/// Kinds of the errors: syntax (TOML), launch-mismatch, bad-tensormap. Files that it names ("file:...") are
/// opened here only for `bytes`.
std::optional<LaunchFile> parse_launch_file(const std::string& path, std::string_view text, Diagnostics& diags);

}  // namespace tcsim::launch
