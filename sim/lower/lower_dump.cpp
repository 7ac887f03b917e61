// lower_dump KERNEL.ptx [MACHINE] [REGISTERS] [plain]: the lowered program of each kernel beside its PTX.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "sim/lower/lower.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: lower_dump KERNEL.ptx [MACHINE] [REGISTERS] [plain]\n";
    return 2;
  }
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  tcsim::Diagnostics diags;
  const auto machine = tcsim::cfg::load_machine(argc > 2 ? argv[2] : "h200", {}, diags);
  const auto module = tcsim::isa::load_module(argv[1], text.str(), diags);
  if (machine && module) {
    tcsim::sim::LowerOptions options;
    if (argc > 3) options.registers = static_cast<uint32_t>(std::atoi(argv[3]));
    options.schedule = argc <= 4;
    for (const auto& kernel : module->kernels) {
      const auto program = tcsim::sim::lower(*module, kernel, *machine, options, diags);
      std::cout << tcsim::sim::print_listing(*module, program);
    }
  }
  for (const auto& diagnostic : diags.all()) std::cerr << diagnostic.str() << '\n';
  return diags.has_errors() ? 1 : 0;
}
