// Binds a launch file to a module: global memory with its buffers, parameter banks, symbols.
//
//   launch::Workspace work;
//   if (launch::prepare(file, *module, options, work, diags))
//     for (const auto& launch : work.launches) isa::interpret(*module, *launch.kernel, launch.info,
//     work.memory, ...);
#pragma once
#include <map>
#include <string>
#include <vector>

#include "isa/exec/memory.h"
#include "isa/exec/warp.h"
#include "isa/ptx/module.h"
#include "tools/launch/kernel_file.h"
#include "tools/launch/launch_file.h"

namespace tcsim::launch {

struct PrepareOptions {
  uint64_t seed = 1;                       // of buffers that name none: mixed with the buffer's name
  std::string entry;                       // --entry, wins over the file's when there is one launch
  const TritonMetadata* triton = nullptr;  // defaults for block, dynamic_smem_bytes
};

struct BoundLaunch {
  const isa::Kernel* kernel = nullptr;
  isa::LaunchInfo info;
  Place place;       // of the launch, for messages
  Place smem_place;  // of dynamic_smem_bytes
};

struct Workspace {
  isa::GlobalMemory memory;
  std::map<std::string, uint64_t> address;  // of each buffer
  std::vector<BoundLaunch> launches;
};

/// What to load of the module: the kernels that the launches name, or `entry`; nothing (all) when a launch names none.
std::vector<std::string> kernel_names(const LaunchFile& file, const std::string& entry);

/// The kernel of that name, or the module's only one for an empty name; nullptr with an error
/// (launch-mismatch).
const isa::Kernel* choose_kernel(const isa::Module& module, const std::string& entry, const Place& place, Diagnostics& diags);

/// False with errors of kind launch-mismatch or bad-tensormap, all in one go.
bool prepare(const LaunchFile& file, isa::Module& module, const PrepareOptions& options, Workspace& out, Diagnostics& diags);

/// Contents of a buffer before the launch (poison reads as zeros), as the Workspace had them.
std::optional<std::vector<uint8_t>> initial_bytes(const LaunchFile& file, const BufferSpec& buffer, uint64_t seed, Diagnostics& diags);

/// The launch file to fill in that `tcsim run` prints without --launch.
std::string launch_template(const isa::Module& module, const isa::Kernel& kernel, const TritonMetadata* triton);

}  // namespace tcsim::launch
