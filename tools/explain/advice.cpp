#include "tools/explain/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/tcsim/gemm_best.h"

namespace tcsim::explain {
namespace {

/// What holds for any kernel.
std::string_view general_advice(LimitId id) {
  switch (id) {
    case LimitId::bank_conflicts: return "swizzle the rows in shared memory, or pad them, so that lanes served together meet different banks";
    case LimitId::shared_bandwidth: return "read less from shared memory for each product: a larger tile a warp (or warpgroup), operands kept in registers, wider loads (ldmatrix.x4, 128 bits)";
    case LimitId::data_in_time: return "ask for data earlier: more stages in shared memory, a longer K of the tile, or more CTAs on an SM";
    case LimitId::dram_latency: return "cold data comes late: prefetch (more stages), or order CTAs so that neighbours share operands in L2 (rasterisation)";
    case LimitId::l2_latency: return "ask for data earlier (more stages), or have more of it in flight: larger tiles, more CTAs on an SM";
    case LimitId::dram_bandwidth: return "move fewer bytes: a larger tile, rasterisation that keeps operands in L2, a narrower type; a copy can go no faster";
    case LimitId::l2_bandwidth: return "read less from L2 for each product: a larger tile, or multicast to a cluster (sm_90 and later)";
    case LimitId::l1_throughput: return "coalesce: neighbouring lanes on neighbouring addresses, 16 bytes a lane; cp.async or TMA for tiles";
    case LimitId::issue_slots: return "issue fewer instructions for each product: larger matrix instructions (wgmma, tcgen05), wider loads, unrolled loops without address arithmetic";
    case LimitId::arithmetic: return "fewer scalar instructions: hoist address arithmetic, use packed (x2) instructions or the tensor cores";
    case LimitId::barriers: return "synchronise less often: a longer K of the tile, more stages, warp specialisation (producers and consumers meet on mbarriers only)";
    case LimitId::tma_issue: return "fewer and larger bulk copies: boxes of 128-byte rows, one copy a stage and operand, multicast within a cluster";
    case LimitId::registers: return "fewer registers a thread (a smaller tile a warp, --regs), so that another CTA fits";
    case LimitId::shared_capacity: return "less shared memory a CTA (fewer stages, a smaller tile), so that another CTA fits";
    case LimitId::stores: return "write less: a narrower type of C, or through shared memory with TMA stores that overlap the next tile";
    case LimitId::tensor_pipe: return "the tensor cores are busy: only fewer or cheaper products help (a narrower type, structured sparsity, the newer matrix instructions of the machine)";
  }
  return {};
}

struct Fit {
  uint32_t ctas_per_sm = 0;
  uint64_t ctas = 0;
};

/// nullopt: the GEMM cannot run there.
std::optional<Fit> fit_of(const gemm::Config& config, const cfg::Machine& machine) {
  Diagnostics diags;
  const auto kernel = tool::build_gemm(config, machine, diags);
  if (!kernel) return std::nullopt;
  return Fit{kernel->occupancy.ctas_per_sm, kernel->ctas()};
}

/// More stages, as many as ride out the latency, without giving up a CTA on the SM if that can be.
std::optional<gemm::Config> more_stages(gemm::Config config, const cfg::Machine& machine) {
  constexpr uint32_t kMoreStages = 3;
  const auto now = fit_of(config, machine);
  if (!now) return std::nullopt;
  std::optional<gemm::Config> any;
  const uint32_t stages = config.stages;
  for (uint32_t more = kMoreStages; more > 0; --more) {
    config.stages = stages + more;
    const auto then = fit_of(config, machine);
    if (!then) continue;
    if (then->ctas_per_sm >= now->ctas_per_sm) return config;
    if (!any) any = config;
  }
  return any;
}

/// Twice as many rows or columns a tile, whichever are fewer, as long as every SM still gets one.
std::optional<gemm::Config> larger_tile(gemm::Config config, const cfg::Machine& machine) {
  uint32_t& side = config.tile[0] <= config.tile[1] ? config.tile[0] : config.tile[1];
  side *= 2;
  if (config.tile[0] > config.m || config.tile[1] > config.n) return std::nullopt;
  const auto fit = fit_of(config, machine);
  if (!fit || fit->ctas < machine.chip.sms) return std::nullopt;
  return config;
}

std::string tile_option(const gemm::Config& c) { return fmt::format("--tile {}x{}x{}", c.tile[0], c.tile[1], c.tile[2]); }

class Remedies {
 public:
  Remedies(const gemm::Config& config, const cfg::Machine& machine, double predicted) : config_(config), machine_(machine), predicted_(predicted) {}

  std::vector<Remedy> of(LimitId id) {
    switch (id) {
      case LimitId::bank_conflicts: swizzle(); break;
      case LimitId::data_in_time: case LimitId::l2_latency: case LimitId::dram_latency: stages(id == LimitId::data_in_time); break;
      case LimitId::dram_bandwidth: case LimitId::shared_bandwidth: tile(); break;
      case LimitId::l2_bandwidth: tile(); cluster(); break;
      case LimitId::barriers: case LimitId::issue_slots: case LimitId::tma_issue: style(); break;
      default: break;
    }
    return std::move(out_);
  }

 private:
  void add(std::string option, gemm::Config config, bool whole) { out_.push_back({std::move(option), std::move(config), predicted_, whole}); }
  void swizzle() {
    if (config_.swizzle != "none") return;
    gemm::Config config = config_;
    for (const char* layout : {"xor", "padded"}) {
      config.swizzle = layout;
      if (fit_of(config, machine_)) return add(fmt::format("--swizzle {}", layout), config, true);
    }
  }
  void stages(bool whole) {
    if (const auto config = more_stages(config_, machine_)) add(fmt::format("--stages {}", config->stages), *config, whole);
  }
  void tile() {
    if (const auto config = larger_tile(config_, machine_)) add(tile_option(*config), *config, false);
  }
  void cluster() {
    gemm::Config config = config_;
    config.cluster = {2, 1};
    if (config_.cluster == std::array<uint32_t, 2>{1, 1} && gemm::is_hopper_style(config_.style) && fit_of(config, machine_))
      add("--cluster 2x1", config, false);
  }
  void style() {
    gemm::Config config = config_;
    config.style = config_.style == "blackwell" ? "blackwell-ws" : config_.style == "hopper-tma" ? "hopper-ws" : "";
    if (!config.style.empty() && fit_of(config, machine_)) add(fmt::format("--style {}", config.style), config, false);
  }

  const gemm::Config& config_;
  const cfg::Machine& machine_;
  double predicted_;
  std::vector<Remedy> out_;
};

}  // namespace

Subject subject_of(const gemm::Config& config, const cfg::Machine& machine, Diagnostics& diags) {
  const gemm::Program program = gemm::generate(tool::for_machine(config, machine), diags);
  Subject subject;
  subject.kernel = {program.entry + ".ptx", program.ptx, std::nullopt};
  subject.launch_path = subject.kernel.path + ".toml";
  subject.launch_text = program.launch_toml;
  subject.zero_buffers = true;
  return subject;
}

std::vector<Advice> advise(const Study& study, const gemm::Config* gemm, const cfg::Machine& machine) {
  std::vector<Advice> out;
  for (const Row& row : study.rows) {
    // What a narrower limit explains needs no advice of its own.
    const bool told = std::any_of(out.begin(), out.end(), [&](const Advice& a) {
      return std::find(row.limit->includes.begin(), row.limit->includes.end(), a.limit->id) != row.limit->includes.end();
    });
    if (told || study.gain(row.cycles) < kSmallGain) continue;
    Advice advice{row.limit, std::string(general_advice(row.limit->id))};
    if (gemm != nullptr) advice.remedies = Remedies(*gemm, machine, row.cycles).of(row.limit->id);
    // The same change for two limits is told once, with the larger gain.
    std::erase_if(advice.remedies, [&](const Remedy& remedy) {
      return std::any_of(out.begin(), out.end(), [&](const Advice& other) {
        return std::any_of(other.remedies.begin(), other.remedies.end(), [&](const Remedy& r) { return r.option == remedy.option; });
      });
    });
    out.push_back(std::move(advice));
  }
  return out;
}

void try_remedies(std::vector<Advice>& advice, const cfg::Machine& machine, const StudyOptions& options) {
  std::vector<std::function<void()>> jobs;
  for (Advice& each : advice)
    for (Remedy& remedy : each.remedies)
      jobs.push_back([&remedy, &machine, &options] {
        const tool::GemmTiming timing = tool::time_gemm(remedy.config, machine, {.threads = options.threads});
        remedy.simulated_cycles = timing.cycles;
        remedy.failure = timing.failure;
      });
  tool::run_jobs(jobs, options.jobs);
}

std::vector<std::string> remarks(const Study& study, const cfg::Machine& machine) {
  std::vector<std::string> out;
  const double outside = study.cycles() - [&] {
    double inside = 0;
    for (const LaunchTime& launch : study.base.launches) inside += launch.kernel_cycles;
    return inside;
  }();
  if (outside > kSmallGain * study.cycles())
    out.push_back(fmt::format("launch and drain take {:.0f} cycles ({:.0f} %), which no change of the kernel's code lifts", outside, 100 * outside / study.cycles()));
  for (const sim::Report& report : study.base.reports) {
    const auto& g = report.launch.grid;
    const double ctas = static_cast<double>(uint64_t{g[0]} * g[1] * g[2]), sms = machine.chip.sms, places = sms * report.launch.ctas_per_sm;
    if (ctas < sms) {
      out.push_back(fmt::format("{}: {:.0f} CTAs for {:.0f} SMs: smaller tiles, or K split over CTAs (split-K), would use the rest", report.kernel, ctas, sms));
    } else if (const double waves = ctas / places; waves > 1 && std::ceil(waves) > 1.1 * waves) {
      out.push_back(fmt::format("{}: {:.2f} waves of CTAs: the last one leaves {:.0f} % of the places empty; another tile, split-K or persistent CTAs would fill them",
                                report.kernel, waves, 100 * (std::ceil(waves) - waves)));
    }
  }
  return out;
}

}  // namespace tcsim::explain
