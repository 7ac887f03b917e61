// For tests: one case of a measurement folder as inputs of a run.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/exec/interpreter.h"
#include "isa/ptx/module.h"
#include "tools/launch/check.h"
#include "tools/launch/prepare.h"

namespace tcsim::tool {

/// A kernel with its launch, run functionally under one order; the result buffers' bytes and the comparison.
struct FunctionalRun {
  std::vector<uint8_t> d;
  wl::Comparison comparison;
};

inline std::string errors_of(const Diagnostics& diags) {
  std::string out;
  for (const Diagnostic& diagnostic : diags.all()) out += diagnostic.str() + "\n";
  return out;
}

/// Fails the test when anything is wrong but the comparison itself.
inline FunctionalRun run_functional(const std::string& ptx_path, const std::string& ptx, const std::string& launch_path,
                                    const std::string& launch_text, isa::AsyncOrder order, uint64_t seed = 1,
                                    const wl::Tolerance& tolerance = wl::kAcceptance) {
  FunctionalRun out;
  Diagnostics diags;
  const auto module = isa::load_module(ptx_path, ptx, diags);
  const auto file = launch::parse_launch_file(launch_path, launch_text, diags);
  launch::Workspace work;
  if (!module || !file || diags.has_errors() || !launch::prepare(*file, *module, {}, work, diags)) {
    ADD_FAILURE() << errors_of(diags);
    return out;
  }
  isa::InterpreterOptions options;
  options.order = order;
  options.seed = seed;
  for (const launch::BoundLaunch& bound : work.launches) isa::interpret(*module, *bound.kernel, bound.info, work.memory, options, diags);
  const auto comparison = launch::compare(*file, 1, work, tolerance, diags);
  EXPECT_TRUE(diags.all().empty()) << errors_of(diags);
  if (!comparison) return out;
  out.comparison = *comparison;
  const launch::BufferSpec& d = *file->find_buffer(file->check->gemm->d);
  const uint8_t* bytes = work.memory.map(work.address.at(d.name), d.bytes());
  out.d.assign(bytes, bytes + d.bytes());
  return out;
}

}  // namespace tcsim::tool
