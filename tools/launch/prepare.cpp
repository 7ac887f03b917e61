#include "tools/launch/prepare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tools/launch/bind_symbols.h"
#include "tools/launch/document.h"
#include "tools/launch/init.h"
#include "tools/launch/npy.h"
#include "tools/launch/parse_common.h"
#include "workloads/common/dtype.h"

namespace tcsim::launch {
namespace {

// The same on every compute capability that tensor cores have (CUDA Programming Guide, "Technical
// Specifications per Compute Capability"). Threads per CTA and shared memory come from the machine file.
constexpr isa::Dim3 kMaxGrid{0x7fffffffu, 65535, 65535}, kMaxBlock{1024, 1024, 64};

// CUDA Programming Guide, "Thread Block Clusters": 8 everywhere, 16 where a kernel opts in (H100, H200).
constexpr uint64_t kMaxCluster = 16;
constexpr uint32_t kTensorMapAlignment = 64;  // CUDA driver API, cuTensorMapEncodeTiled

std::string text_of(const isa::Dim3& d) { return fmt::format("[{}, {}, {}]", d.x, d.y, d.z); }
bool within(const isa::Dim3& d, const isa::Dim3& limit) { return d.x <= limit.x && d.y <= limit.y && d.z <= limit.z; }

uint64_t seed_of(const BufferSpec& buffer, uint64_t seed) {
  if (buffer.seed) return *buffer.seed;
  uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a of the name: buffers differ from each other
  for (const char c : buffer.name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash ^ random_word(seed, 0, 0);
}

/// Copies the elements of a .npy (or the bytes of a raw file) into the buffer.
bool fill_from_file(const LaunchFile& file, const BufferSpec& buffer, std::span<uint8_t> out, Diagnostics& diags) {
  const std::string path = file.resolve(buffer.file);
  const auto content = read_bytes(path, buffer.place, diags);
  if (!content) return false;
  const auto fail = [&](std::string text) {
    diags.error("launch-mismatch", buffer.place, fmt::format("buffer '{}' from '{}': {}", buffer.name, path, text));
    return false;
  };
  if (!is_npy(*content)) {  // raw: either the whole allocation or the dense elements
    if (content->size() != out.size()) return fail(fmt::format("the file has {} bytes, the buffer {}", content->size(), out.size()));
    std::copy(content->begin(), content->end(), out.begin());
    return true;
  }
  std::string error;
  const auto array = parse_npy(*content, error);
  if (!array) return fail(error);
  const int width = wl::storage_bits(buffer.dtype);
  const uint64_t bytes = (buffer.elements() * static_cast<uint64_t>(width) + 7) / 8;
  if (width >= 8 && array->shape != buffer.shape)
    return fail(fmt::format("its shape is ({}), the buffer's ({})", fmt::join(array->shape, ", "), fmt::join(buffer.shape, ", ")));
  const std::string_view have(array->descr), want(npy_descr(buffer.dtype));
  if (have.substr(1) != want.substr(1) && have.substr(2) != std::to_string(std::max(1, width / 8)))
    return fail(fmt::format("its type is '{}', expected '{}' for {}", have, want, isa::name(buffer.dtype)));
  if (array->data.size() != bytes) return fail(fmt::format("it holds {} bytes of elements, expected {}", array->data.size(), bytes));
  for_elements(buffer, [&](uint64_t dense, uint64_t at) { wl::store_bits(out, buffer.dtype, at, wl::load_bits(array->data, buffer.dtype, dense)); });
  return true;
}

bool buffers_fit(const LaunchFile& file, Diagnostics& diags) {
  double total = 0;
  for (const BufferSpec& buffer : file.buffers) total += static_cast<double>(buffer.bytes());
  const double host = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (total <= host) return true;
  diags.error("launch-mismatch", {file.path, 0, 0},
              fmt::format("the buffers need {:.0f} MB, this computer has {:.0f} MB of memory", total / 1e6, host / 1e6));
  return false;
}

void allocate_buffers(const LaunchFile& file, uint64_t seed, Workspace& out, Diagnostics& diags) {
  for (const BufferSpec& buffer : file.buffers) {
    const uint64_t address = out.memory.allocate(buffer.name, buffer.bytes(), buffer.align_bytes, buffer.init == Init::poison);
    out.address[buffer.name] = address;
    const std::span<uint8_t> bytes(out.memory.map(address, buffer.bytes()), buffer.bytes());
    if (buffer.init == Init::file) fill_from_file(file, buffer, bytes, diags);
    else fill(buffer, seed_of(buffer, seed), bytes);
  }
}

/// The 128 bytes of a tensor map.
isa::TensorMapBytes encode(const LaunchFile& file, const std::string& name, const Workspace& work) {
  const TensorMapSpec& spec = *file.find_tensormap(name);
  isa::TensorMap map = spec.map;
  map.address += work.address.at(spec.buffer);
  return map.encode();
}

/// Writes addresses and tensor maps into bytes at the patches' offsets.
void apply_patches(const LaunchFile& file, const std::vector<Patch>& patches, const Workspace& work, std::span<uint8_t> bytes, Diagnostics& diags) {
  for (const Patch& patch : patches) {
    const uint64_t size = patch.buffer.empty() ? sizeof(isa::TensorMapBytes) : sizeof(uint64_t);
    if (patch.offset > bytes.size() || size > bytes.size() - patch.offset) {
      diags.error("launch-mismatch", patch.place,
                  fmt::format("patch of {} bytes at offset {} does not fit into {} bytes", size, patch.offset, bytes.size()));
      continue;
    }
    if (patch.buffer.empty()) {
      const isa::TensorMapBytes map = encode(file, patch.tensormap, work);
      std::copy(map.begin(), map.end(), bytes.begin() + static_cast<ptrdiff_t>(patch.offset));
      continue;
    }
    const uint64_t address = work.address.at(patch.buffer) + static_cast<uint64_t>(patch.offset_bytes);
    std::memcpy(bytes.data() + patch.offset, &address, sizeof address);
  }
}

std::vector<uint8_t> argument_bytes(const LaunchFile& file, const Argument& argument, const Workspace& work, Diagnostics& diags) {
  if (argument.kind == Argument::Kind::tensormap) {
    const isa::TensorMapBytes map = encode(file, argument.name, work);
    return {map.begin(), map.end()};
  }
  std::vector<uint8_t> out = argument.bytes;
  if (argument.kind == Argument::Kind::buffer) {
    const uint64_t address = work.address.at(argument.name) + static_cast<uint64_t>(argument.offset_bytes);
    out.resize(sizeof address);
    std::memcpy(out.data(), &address, sizeof address);
  }
  apply_patches(file, argument.patches, work, out, diags);
  return out;
}

std::string describe(const Argument& argument, size_t bytes) {
  switch (argument.kind) {
    case Argument::Kind::buffer: return fmt::format("buffer '{}' is a pointer of {} bytes", argument.name, bytes);
    case Argument::Kind::tensormap: return fmt::format("tensormap '{}' has {} bytes", argument.name, bytes);
    case Argument::Kind::bytes: return fmt::format("'bytes' has {} bytes", bytes);
    case Argument::Kind::null: return fmt::format("a null pointer has {} bytes", bytes);
    case Argument::Kind::scalar: break;
  }
  return fmt::format("{} has {} bytes", isa::name(argument.type), bytes);
}

void bind_arguments(const LaunchFile& file, const LaunchSpec& spec, const isa::Kernel& kernel, const Workspace& work, isa::LaunchInfo& info,
                    Diagnostics& diags) {
  if (spec.args.size() != kernel.params.size()) {
    diags.error("launch-mismatch", spec.args_place,
                fmt::format("{} arguments given, kernel '{}' has {} parameters", spec.args.size(), kernel.name, kernel.params.size()));
    return;
  }
  info.params.assign(kernel.param_bytes, 0);
  for (size_t i = 0; i < spec.args.size(); ++i) {
    const Argument& argument = spec.args[i];
    const isa::Param& param = kernel.params[i];
    const std::vector<uint8_t> bytes = argument_bytes(file, argument, work, diags);
    const bool map = argument.kind == Argument::Kind::tensormap;
    if (map && bytes.size() == param.bytes && param.offset % kTensorMapAlignment != 0)
      diags.error("launch-mismatch", argument.place,
                  fmt::format("argument {}: tensormap '{}' for parameter '{}', which lies at offset {}: expected a "
                              "multiple of {} (.align {})",
                              i + 1, argument.name, param.name, param.offset, kTensorMapAlignment, kTensorMapAlignment));
    if (bytes.size() != param.bytes) {
      diags.error("launch-mismatch", argument.place,
                  fmt::format("argument {}: {}, parameter '{}' (.{}) has {}", i + 1, describe(argument, bytes.size()), param.name,
                              isa::name(param.type), param.bytes));
      continue;
    }
    std::copy(bytes.begin(), bytes.end(), info.params.begin() + param.offset);
  }
}

/// Grid, block and cluster against the kernel's directives and the limits of CUDA.
void bind_shape(const LaunchSpec& spec, const isa::Kernel& kernel, const PrepareOptions& options, isa::LaunchInfo& info, Diagnostics& diags) {
  const auto bad = [&](const Place& place, std::string text) { diags.error("launch-mismatch", place, std::move(text)); };
  const bool required = kernel.reqntid[0] != 0;
  const isa::Dim3 reqntid{std::max(1u, kernel.reqntid[0]), std::max(1u, kernel.reqntid[1]), std::max(1u, kernel.reqntid[2])};
  info.grid = spec.grid;
  if (spec.block) info.block = *spec.block;
  else if (required) info.block = reqntid;
  else if (options.triton && options.triton->threads) info.block = {options.triton->threads, 1, 1};
  else bad(spec.place, "'block' is missing: the number of threads, for example block = [128, 1, 1]");
  if (!within(info.grid, kMaxGrid)) bad(spec.grid_place, fmt::format("grid {} > {}", text_of(info.grid), text_of(kMaxGrid)));
  if (!within(info.block, kMaxBlock)) bad(spec.block_place, fmt::format("block {} > {}", text_of(info.block), text_of(kMaxBlock)));
  if (required && (info.block.x != reqntid.x || info.block.y != reqntid.y || info.block.z != reqntid.z))
    bad(spec.block_place, fmt::format("block {}, kernel '{}' requires {} (.reqntid)", text_of(info.block), kernel.name, text_of(reqntid)));
  const isa::Dim3 maxntid{kernel.maxntid[0], std::max(1u, kernel.maxntid[1]), std::max(1u, kernel.maxntid[2])};
  if (kernel.maxntid[0] != 0 && info.block.count() > maxntid.count())
    bad(spec.block_place, fmt::format("block {} has {} threads, kernel '{}' allows {} (.maxntid)", text_of(info.block), info.block.count(),
                                      kernel.name, maxntid.count()));
  info.cluster = spec.cluster.value_or(isa::Dim3{});
  if (kernel.reqnctapercluster[0] != 0)
    info.cluster = {kernel.reqnctapercluster[0], std::max(1u, kernel.reqnctapercluster[1]), std::max(1u, kernel.reqnctapercluster[2])};
  const isa::Dim3& cluster = info.cluster;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || cluster.count() > kMaxCluster)
    return bad(spec.grid_place, fmt::format("cluster {} has {} CTAs, expected 1 to {}", text_of(cluster), cluster.count(), kMaxCluster));
  if (info.grid.x % info.cluster.x || info.grid.y % info.cluster.y || info.grid.z % info.cluster.z)
    bad(spec.grid_place, fmt::format("grid {} is not a multiple of the cluster {}", text_of(info.grid), text_of(info.cluster)));
  info.dynamic_smem_bytes = spec.dynamic_smem_bytes.value_or(options.triton ? options.triton->dynamic_smem_bytes : 0);
}

void bind_launch(const LaunchFile& file, const LaunchSpec& spec, const isa::Module& module, const std::string& entry, const PrepareOptions& options,
                 Workspace& out, Diagnostics& diags) {
  BoundLaunch bound;
  bound.place = spec.place;
  bound.smem_place = spec.smem_place;
  bound.kernel = choose_kernel(module, entry, spec.entry_place, diags);
  if (!bound.kernel) return;
  bind_shape(spec, *bound.kernel, options, bound.info, diags);
  bind_arguments(file, spec, *bound.kernel, out, bound.info, diags);
  bound.info.constants = module.constant_bytes;
  out.launches.push_back(std::move(bound));
}

}  // namespace

std::vector<std::string> kernel_names(const LaunchFile& file, const std::string& entry) {
  std::vector<std::string> names;
  for (const LaunchSpec& launch : file.launches) {
    const std::string& name = file.launches.size() == 1 && !entry.empty() ? entry : launch.entry;
    if (name.empty()) return {};
    names.push_back(name);
  }
  return names;
}

const isa::Kernel* choose_kernel(const isa::Module& module, const std::string& entry, const Place& place, Diagnostics& diags) {
  std::vector<std::string> names;
  for (const isa::Kernel& kernel : module.kernels) names.push_back(kernel.name);
  if (entry.empty() && module.kernels.size() == 1) return &module.kernels.front();
  if (const isa::Kernel* kernel = entry.empty() ? nullptr : module.find_kernel(entry)) return kernel;
  diags.error("launch-mismatch", place,
              module.kernels.empty() ? fmt::format("'{}' has no .entry", module.path)
              : entry.empty()
                  ? fmt::format("'{}' has {} kernels, 'entry' must choose one of {}", module.path, names.size(), fmt::join(names, " "))
                  : fmt::format("there is no kernel '{}' in '{}'{}; it has {}", entry, module.path, suggestion(entry, names), fmt::join(names, " ")));
  return nullptr;
}

std::optional<std::vector<uint8_t>> initial_bytes(const LaunchFile& file, const BufferSpec& buffer, uint64_t seed, Diagnostics& diags) {
  std::vector<uint8_t> out(buffer.bytes(), 0);
  if (buffer.init != Init::file) fill(buffer, seed_of(buffer, seed), out);
  else if (!fill_from_file(file, buffer, out, diags)) return std::nullopt;
  return out;
}

bool prepare(const LaunchFile& file, isa::Module& module, const PrepareOptions& options, Workspace& out, Diagnostics& diags) {
  if (!buffers_fit(file, diags)) return false;
  allocate_buffers(file, options.seed, out, diags);
  for (const BufferSpec& buffer : file.buffers) {
    const uint64_t address = out.address.at(buffer.name);
    apply_patches(file, buffer.patches, out, {out.memory.map(address, buffer.bytes()), buffer.bytes()}, diags);
  }
  bind_symbols(file, module, out, diags);
  for (const LaunchSpec& spec : file.launches) {
    const bool override_entry = !options.entry.empty() && file.launches.size() == 1;
    std::string entry = override_entry ? options.entry : spec.entry;
    if (entry.empty() && options.triton) entry = options.triton->entry;
    bind_launch(file, spec, module, entry, options, out, diags);
  }
  return !diags.has_errors();
}

}  // namespace tcsim::launch
