// KERNEL on the command line: a .ptx file, or a Triton cache folder (its .ptx and .json are both read).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "isa/diag.h"
#include "isa/exec/warp.h"
#include "isa/ptx/module.h"

namespace tcsim::launch {

/// What Triton's <kernel>.json says of the launch.
struct TritonMetadata {
  std::string path, entry;
  uint32_t threads = 0, dynamic_smem_bytes = 0;
  isa::Dim3 cluster;
  uint32_t registers = 0;  // maxnreg, 0: not given
  uint32_t stages = 0;     // num_stages, 0: not given
};

struct KernelFile {
  std::string path, text;  // of the .ptx
  std::optional<TritonMetadata> triton;
};

/// Registers a thread: --regs (0: not given), .maxnreg, Triton's metadata; 0: nobody says.
uint32_t given_registers(uint32_t option, const isa::Kernel& kernel, const TritonMetadata* triton);

/// Errors (kind "syntax"): unreadable, empty, binary, a folder without exactly one .ptx.
std::optional<KernelFile> read_kernel_file(const std::string& path, Diagnostics& diags);

}  // namespace tcsim::launch
