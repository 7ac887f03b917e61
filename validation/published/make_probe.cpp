#include <fmt/format.h>

#include "validation/published/probe.h"

namespace tcsim::published {

std::string ptx_header(uint32_t sm) {
  const bool specific = sm >= 90;  // wgmma, tcgen05 and sm_120's kinds are of the architecture-specific targets
  return fmt::format(".version 8.8\n.target sm_{}{}\n.address_size 64\n", sm, specific ? "a" : "");
}

std::string launch_text(uint32_t ctas, uint32_t threads, uint32_t smem_bytes, uint32_t out_words, uint64_t chase_bytes, uint32_t cluster) {
  std::string text =
      fmt::format("grid = [{}, 1, 1]\nblock = [{}, 1, 1]\ncluster = [{}, 1, 1]\ndynamic_smem_bytes = {}\nargs = [{{ buffer = \"out\" }}{}]\n", ctas,
                  threads, cluster, smem_bytes, chase_bytes ? ", { buffer = \"chase\" }" : "");
  text += fmt::format("[buffer.out]\ndtype = \"u64\"\nshape = [{}]\ninit = \"zeros\"\n", out_words);
  if (chase_bytes) text += fmt::format("[buffer.chase]\ndtype = \"u32\"\nshape = [{}]\ninit = \"zeros\"\n", chase_bytes / 4);
  return text;
}

std::optional<Probe> make_probe(const Reading& r, const cfg::Machine& machine) {
  if (r.quantity == "mma_latency") return mma_latency(r.what, machine);
  if (r.quantity == "mma_interval") return mma_interval(r.what, machine, false);
  if (r.quantity == "wgmma_interval") return wgmma_interval(r.what, machine, false);
  if (r.quantity == "tensor_peak") {
    if (r.what.starts_with("mma ")) return mma_interval(r.what.substr(4), machine, true);
    if (r.what.starts_with("wgmma ")) return wgmma_interval(r.what.substr(6), machine, true);
  }
  const bool tcgen05_peak = r.quantity == "tensor_peak" && r.what.starts_with("tcgen05 ");
  if (tcgen05_peak || r.quantity.starts_with("tcgen05_")) {
    const auto c = parse_tcgen05_case(tcgen05_peak ? r.what.substr(8) : r.what);
    if (!c) return std::nullopt;
    if (r.quantity == "tcgen05_latency") return tcgen05_latency(*c);
    if (tcgen05_peak || r.quantity == "tcgen05_interval") return tcgen05_interval(*c, tcgen05_peak);
  }
  if (auto p = memory_probe(r, machine)) return p;
  return bulk_probe(r, machine);
}

}  // namespace tcsim::published
