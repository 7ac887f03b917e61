// Fuzz target: any bytes as a module. Whatever loads must print and load again.
// Seeds: isa/ptx/testdata.  Run: tcsim_ptx_fuzz -max_len=16384 -timeout=10 -rss_limit_mb=1024 CORPUS isa/ptx/testdata
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "isa/ptx/module.h"

using namespace tcsim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Diagnostics diags;
  const auto module = isa::load_module("fuzz.ptx", std::string(reinterpret_cast<const char*>(data), size), diags);
  if (diags.has_errors() || module->kernels.empty()) return 0;
  const std::string printed = isa::print(*module);
  Diagnostics again;
  isa::load_module("printed.ptx", printed, again);
  if (!again.has_errors()) return 0;
  std::fputs(printed.c_str(), stderr);
  for (const Diagnostic& d : again.all()) std::fprintf(stderr, "%s\n", d.str().c_str());
  std::abort();
}
