#include "tools/explain/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tcsim::explain {
namespace {

/// Loads that come late: what asks for them earlier. no_stages: why more stages do not.
std::string ask_earlier(const std::string& no_stages) {
  return no_stages.empty() ? "more stages in shared memory, a longer K of the tile, or more CTAs on an SM"
                           : fmt::format("a longer K of the tile, or more CTAs on an SM ({})", no_stages);
}

/// What holds for a generated GEMM alone; "": what holds for any kernel.
std::string advice_for(LimitId id, const gemm::Config& gemm, const cfg::Machine& machine) {
  const std::string no_stages = why_no_more_stages(gemm, machine);
  switch (id) {
    case LimitId::bank_conflicts: {
      const std::string layout = gemm.swizzle.empty() ? gemm::default_swizzle(gemm.style) : gemm.swizzle;
      return layout == "none" ? "" : fmt::format("some are left in the {} layout: the other one, or a tile of another shape", layout);
    }
    case LimitId::data_in_time: return "ask for data earlier: " + ask_earlier(no_stages);
    case LimitId::dram_latency:
      return no_stages.empty()
                 ? ""
                 : fmt::format("cold data comes late: order CTAs so that neighbours share operands in L2 (rasterisation); {}", no_stages);
    case LimitId::l2_latency:
      return no_stages.empty() ? "" : fmt::format("have more data in flight: larger tiles, more CTAs on an SM; {}", no_stages);
    case LimitId::stores: {
      const bool tma = (gemm::is_hopper_style(gemm.style) || gemm::is_blackwell_style(gemm.style)) && gemm.epilogue == "tma";
      if (!tma) return "";
      return persistent_style(gemm.style) ? "write less: a narrower type of C"
                                          : "write less: a narrower type of C; or let the TMA stores overlap the next tile: a persistent style";
    }
    default: return "";
  }
}

/// What holds for any kernel.
std::string_view general_advice(LimitId id) {
  switch (id) {
    case LimitId::bank_conflicts: return "swizzle the rows in shared memory, or pad them, so that lanes served together meet different banks";
    case LimitId::shared_bandwidth:
      return "read less from shared memory for each product: a larger tile a warp (or warpgroup), operands kept in registers, wider loads "
             "(ldmatrix.x4, 128 bits)";
    case LimitId::data_in_time: return "ask for data earlier: more stages in shared memory, a longer K of the tile, or more CTAs on an SM";
    case LimitId::dram_latency:
      return "cold data comes late: prefetch (more stages), or order CTAs so that neighbours share operands in L2 (rasterisation)";
    case LimitId::l2_latency: return "ask for data earlier (more stages), or have more of it in flight: larger tiles, more CTAs on an SM";
    case LimitId::dram_bandwidth:
      return "move fewer bytes: a larger tile, rasterisation that keeps operands in L2, a narrower type; a copy can go no faster";
    case LimitId::l2_bandwidth: return "read less from L2 for each product: a larger tile, or multicast to a cluster (sm_90 and later)";
    case LimitId::l1_throughput: return "coalesce: neighbouring lanes on neighbouring addresses, 16 bytes a lane; cp.async or TMA for tiles";
    case LimitId::issue_slots:
      return "issue fewer instructions for each product: larger matrix instructions (wgmma, tcgen05), wider loads, unrolled loops without address "
             "arithmetic";
    case LimitId::arithmetic: return "fewer scalar instructions: hoist address arithmetic, use packed (x2) instructions or the tensor cores";
    case LimitId::instruction_latency:
      return "more independent work between an instruction and the use of its result: more warps (occupancy), a larger tile a warp, several "
             "accumulators, fragments loaded a step ahead";
    case LimitId::barriers:
      return "synchronise less often: a longer K of the tile, more stages, warp specialisation (producers and consumers meet on mbarriers only)";
    case LimitId::tma_issue: return "fewer and larger bulk copies: boxes of 128-byte rows, one copy a stage and operand, multicast within a cluster";
    case LimitId::registers: return "fewer registers a thread (a smaller tile a warp, --regs), so that another CTA fits";
    case LimitId::shared_capacity: return "less shared memory a CTA (fewer stages, a smaller tile), so that another CTA fits";
    case LimitId::stores: return "write less: a narrower type of C, or through shared memory with TMA stores that overlap the next tile";
    case LimitId::tensor_pipe:
      return "products wait for the tensor cores: only fewer or cheaper products help (a narrower type, structured sparsity, the newer matrix "
             "instructions of the machine)";
  }
  return {};
}

/// Both are of the same kind, so that one is told: the same style, or the same option in the same direction.
bool same_kind(const Remedy& a, const Remedy& b, const gemm::Config& now) {
  const auto name = [](const Remedy& r) { return std::string_view(r.option).substr(0, r.option.find(' ')); };
  return name(a) == name(b) && a.config.style == b.config.style && (a.config.stages < now.stages) == (b.config.stages < now.stages);
}

/// What an SM has to have under way for loads that come in time: latency times rate (Little's law).
std::string in_flight(const Study& study, double cycles, const cfg::Machine& machine) {
  double bytes = 0;
  for (const LaunchTime& launch : study.base.launches) bytes += launch.loaded_bytes;
  const double rate = bytes / std::max(1.0, cycles - study.outside_cycles());
  return fmt::format("; at that pace an SM has about {:.0f} KB under way ({:.0f} cycles from DRAM x {:.0f} B a cycle)",
                     std::ceil(rate * cold_load_cycles(machine) / 1024), cold_load_cycles(machine), rate);
}

std::optional<Advice> few_ctas(const Study& study, const gemm::Config* gemm, const cfg::Machine& machine) {
  if (study.ctas >= study.sms) return std::nullopt;
  Advice advice{nullptr, "too few CTAs",
                fmt::format("{} for {} SMs: smaller tiles, or K split over CTAs and added up at the end (split-K)", study.ctas, study.sms)};
  if (gemm != nullptr) advice.remedies = more_ctas(*gemm, machine);
  return advice;
}

}  // namespace

std::vector<Advice> advise(const Study& study, const gemm::Config* gemm, const cfg::Machine& machine) {
  std::vector<Advice> out;
  for (const Row& row : study.rows) {
    // What a narrower limit explains needs no advice of its own.
    const bool told = std::any_of(out.begin(), out.end(), [&](const Advice& a) {
      const auto& included = row.limit->includes;
      return std::find(included.begin(), included.end(), a.limit->id) != included.end();
    });
    if (told || study.gain(row.cycles) < kSmallGain) continue;
    Advice advice{row.limit, std::string(row.limit->name), gemm != nullptr ? advice_for(row.limit->id, *gemm, machine) : ""};
    if (advice.text.empty()) advice.text = general_advice(row.limit->id);
    if (row.limit->id == LimitId::data_in_time) advice.text += in_flight(study, row.cycles, machine);
    if (gemm != nullptr) advice.remedies = remedies_of(row.limit->id, row.cycles, *gemm, study, machine);
    // The same option for two limits is told once, where it gains more.
    std::erase_if(advice.remedies, [&](const Remedy& remedy) {
      return std::any_of(out.begin(), out.end(), [&](const Advice& other) {
        return std::any_of(other.remedies.begin(), other.remedies.end(), [&](const Remedy& r) { return same_kind(r, remedy, *gemm); });
      });
    });
    out.push_back(std::move(advice));
  }
  if (auto advice = few_ctas(study, gemm, machine)) out.push_back(std::move(*advice));
  return out;
}

void try_advice(std::vector<Advice>& advice, const cfg::Machine& machine, const StudyOptions& options) {
  std::vector<Remedy*> remedies;
  for (Advice& each : advice)
    for (Remedy& remedy : each.remedies) remedies.push_back(&remedy);
  try_remedies(remedies, machine, options);
}

const Remedy* best_tried(const std::vector<Advice>& advice) {
  const Remedy* best = nullptr;
  for (const Advice& each : advice)
    for (const Remedy& remedy : each.remedies)
      if (remedy.simulated_cycles > 0 && (best == nullptr || remedy.simulated_cycles < best->simulated_cycles)) best = &remedy;
  return best;
}

std::vector<std::string> remarks(const Study& study, const cfg::Machine& machine) {
  std::vector<std::string> out;
  const double outside = study.outside_cycles();
  if (outside > kSmallGain * study.cycles())
    out.push_back(fmt::format("launch and drain take {:.0f} cycles ({:.0f} %), which no change of the kernel's code lifts", outside,
                              100 * outside / study.cycles()));
  for (const sim::Report& report : study.base.reports) {
    const auto& g = report.launch.grid;
    const double ctas = static_cast<double>(uint64_t{g[0]} * g[1] * g[2]), sms = machine.chip.sms, places = sms * report.launch.ctas_per_sm;
    if (const double waves = ctas / places; ctas >= sms && waves > 1 && std::ceil(waves) > 1.1 * waves)
      out.push_back(fmt::format(
          "{}: {:.2f} waves of CTAs: the last one leaves {:.0f} % of the places empty; another tile, split-K or persistent CTAs would fill them",
          report.kernel, waves, 100 * (std::ceil(waves) - waves)));
  }
  return out;
}

}  // namespace tcsim::explain
