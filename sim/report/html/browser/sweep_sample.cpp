// Prints the page of a made-up sweep: 2 machines x 3 tiles x 4 stages. Cycles are 1000 (tile number) / stages + 1 for machine b,
// so that b's tile 1 with 4 stages (251) is the fastest; the largest tile with 4 stages does not fit.
#include <fmt/format.h>

#include "sim/report/html/page.h"

int main() {
  tcsim::sim::SweepPage page;
  page.title = "A sweep";
  page.version = "0";
  page.command = {"sweep_sample"};
  page.columns = {"arch", "tile", "stages", "cycles", "bound_by", "reason", "dtype"};
  page.roles.parameters = {"arch"};
  const char* tiles[] = {"64x64x32", "128x64x32", "256x128x64"};
  for (const char* arch : {"a", "b"})
    for (int tile = 0; tile < 3; ++tile)
      for (int stages = 1; stages <= 4; ++stages) {
        const bool fits = tile < 2 || stages < 4;
        const int cycles = 1000 * (tile + 1) / stages + (arch[0] == 'a' ? 2 : 1);
        page.rows.push_back({arch, tiles[tile], fmt::format("{}", stages), fits ? fmt::format("{}", cycles) : "",
                             !fits ? "" : stages < 3 ? "latency (L2 bandwidth 40 %)" : "DRAM bandwidth 83 %", fits ? "" : "smem 245760 > 232448 B", "f16"});
      }
  fmt::print("{}", tcsim::sim::write_sweep_page(page));
}
