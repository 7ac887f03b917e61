// What `tcsim gemm` was asked for, and its two ways to answer: one kernel with a full report, or a table over machines.
#pragma once
#include <string>
#include <vector>

#include "tools/tcsim/run_kernel.h"
#include "workloads/gemm/gemm.h"

namespace tcsim::tool {

struct GemmCommand {
  RunOptions options;
  gemm::Config config;
  std::string tile, swizzle, cluster, emit_ptx, csv;
  uint32_t stages = 0;  // 0: not given
  bool best = false, analytic = false, no_run = false;

  std::vector<std::string> machines() const;  // of --arch
  bool table() const { return best || machines().size() > 1; }
};

/// command.config with everything that was not given chosen for the style and the machine's sm; kUsage after a message when something
/// cannot be read.
int resolve(const GemmCommand& command, const std::string& style, gemm::Config& out, uint32_t sm = gemm::Config{}.sm);

/// Size, types, style, tile, stages and what else describes the kernel.
void add_gemm_shape_options(CLI::App& app, GemmCommand& command);
/// A style, or kUsage after a message.
int check_style(const GemmCommand& command);
constexpr const char* kDefaultStyles = "volta, turing or ampere, by the machine";  // default_style(), in words

/// The table: one row a machine with --best, else one a machine and style.
int compare_gemms(const GemmCommand& command, const Invocation& invocation);

}  // namespace tcsim::tool
