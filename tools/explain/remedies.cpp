#include "tools/explain/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/tcsim/gemm_best.h"

namespace tcsim::explain {
namespace {

using gemm::Config;

struct Fit {
  uint32_t ctas_per_sm = 0, stage_bytes = 0;
  uint64_t ctas = 0;

  /// CTAs that an SM really gets.
  uint64_t resident(const cfg::Machine& machine) const { return std::min<uint64_t>(ctas_per_sm, (ctas + machine.chip.sms - 1) / machine.chip.sms); }
};

/// nullopt: the GEMM cannot run there.
std::optional<Fit> fit_of(const Config& config, const cfg::Machine& machine) {
  Diagnostics diags;
  const auto kernel = tool::build_gemm(config, machine, diags);
  if (!kernel) return std::nullopt;
  Fit fit{kernel->occupancy.ctas_per_sm, 0, kernel->ctas()};
  for (const gemm::SharedUse& use : kernel->program.shared) fit.stage_bytes += use.per_stage ? use.bytes : 0;
  return fit;
}

uint64_t tiles_of(const Config& c) { return uint64_t{(c.m + c.tile[0] - 1) / c.tile[0]} * ((c.n + c.tile[1] - 1) / c.tile[1]); }

std::string tile_option(const Config& c) { return fmt::format("--tile {}x{}x{}", c.tile[0], c.tile[1], c.tile[2]); }

/// Registers hold the next tile whatever the stages in shared memory, which save a barrier only.
bool holds_next_in_registers(const Config& c) { return c.style == "volta" || c.style == "turing"; }

uint32_t k_steps(const Config& c) { return (c.k + c.tile[2] - 1) / c.tile[2]; }

/// Stages that can all be under way: the loads of a persistent style run ahead into the next tile.
uint32_t useful_stages(const Config& c) { return persistent_style(c.style) ? UINT32_MAX : k_steps(c); }

class Remedies {
 public:
  Remedies(double predicted, const Config& config, const Study& study, const cfg::Machine& machine)
      : config_(config), study_(study), machine_(machine), predicted_(predicted) {}

  std::vector<Remedy> of(LimitId id) {
    switch (id) {
      case LimitId::bank_conflicts: swizzle(); break;
      case LimitId::data_in_time:
        stages(!holds_next_in_registers(config_));
        if (out_.empty()) specialised();
        if (out_.empty() || out_.front().config.stages <= config_.stages) persistent();
        break;
      case LimitId::stores: persistent(); break;
      case LimitId::shared_capacity: fewer_stages(); break;
      case LimitId::l2_latency:
      case LimitId::dram_latency: stages(false); break;
      case LimitId::dram_bandwidth: tile(), raster(); break;
      case LimitId::shared_bandwidth: tile(); break;
      case LimitId::l2_bandwidth: tile(), multicast(), raster(); break;
      case LimitId::instruction_latency: tile(); break;
      case LimitId::barriers: specialised(), longer_k(); break;
      case LimitId::issue_slots: specialised(), newer(); break;
      case LimitId::tma_issue: specialised(), multicast(); break;
      case LimitId::tensor_pipe: newer(); break;
      default: break;
    }
    return std::move(out_);
  }

 private:
  bool fits(const Config& config) const { return fit_of(config, machine_).has_value(); }
  void add(std::string option, Config config, bool whole = false) { out_.push_back({std::move(option), std::move(config), predicted_, whole}); }
  void add_if_fits(std::string option, const Config& config) {
    if (fits(config)) add(std::move(option), config);
  }

  /// The other layout when conflicts are left in one.
  void swizzle() {
    const std::string now = config_.swizzle.empty() ? gemm::default_swizzle(config_.style) : config_.swizzle;
    Config config = config_;
    for (const char* layout : {"xor", "padded"}) {
      config.swizzle = layout;
      if (layout != now && fits(config)) return add(fmt::format("--swizzle {}", layout), config, now == "none");
    }
  }

  /// So many that a cold load is under way while the stages before it are multiplied: its latency and the time of its bytes into the SM
  /// over the time of a step that waits for nothing.
  uint32_t stages_wanted(const Fit& now) const {
    double exposed = study_.outside_cycles();
    for (const LaunchTime& launch : study_.base.launches) exposed += launch.exposed_cycles;
    const double rounds = std::ceil(static_cast<double>(tiles_of(config_)) / (static_cast<double>(machine_.chip.sms) * now.ctas_per_sm));
    const double step = std::max(1.0, (predicted_ - exposed) / (k_steps(config_) * rounds));
    // TMA: a stage is refilled only when the products of the next one are under way.
    const bool tma = gemm::is_hopper_style(config_.style) || gemm::is_blackwell_style(config_.style);
    const double least = std::max(config_.stages + 1.0, tma ? 3.0 : 2.0);
    const double wanted = 1 + std::ceil((cold_load_cycles(machine_) + now.stage_bytes / machine_.l1.fill_bytes_per_cycle) / step);
    const double most = std::min<double>(useful_stages(config_), std::max<double>(least, k_steps(config_)));
    return static_cast<uint32_t>(std::clamp(wanted, std::min(least, most), most));
  }

  /// Without giving up a CTA on the SM if that can be.
  void stages(bool whole) {
    const auto now = fit_of(config_, machine_);
    if (!now) return;
    std::optional<Config> any;
    Config config = config_;
    for (config.stages = stages_wanted(*now); config.stages > config_.stages; --config.stages) {
      const auto then = fit_of(config, machine_);
      if (!then) continue;
      if (!any) any = config;
      if (then->resident(machine_) < now->resident(machine_)) continue;
      any = config;
      break;
    }
    if (any) add(fmt::format("--stages {}", any->stages), *any, whole);
  }

  /// As many as still fit with another CTA on the SM.
  void fewer_stages() {
    const auto now = fit_of(config_, machine_);
    Config config = config_;
    while (now && --config.stages > 0)
      if (const auto then = fit_of(config, machine_); then && then->resident(machine_) > now->resident(machine_))
        return add(fmt::format("--stages {}", config.stages), config);
  }

  /// The store of a tile overlaps with the next one: an SM has to have several.
  void persistent() {
    if (persistent_style(config_.style)) return;
    Config config = config_;
    config.style = gemm::is_hopper_style(config.style) ? "hopper-cooperative" : config.style == "blackwell" ? "blackwell-ws" : "";
    config.consumers = 0;
    const bool told = std::any_of(out_.begin(), out_.end(), [&](const Remedy& r) { return r.config.style == config.style; });
    if (config.style.empty() || told || tiles_of(config) <= machine_.chip.sms) return;
    while (!fits(config) && config.stages > 1) --config.stages;
    add_if_fits(fmt::format("--style {}", config.style) + (config.stages != config_.stages ? fmt::format(" --stages {}", config.stages) : ""),
                config);
  }

  /// Twice as many rows or columns a tile, whichever are fewer, as long as every SM still gets one.
  void tile() {
    Config config = config_;
    uint32_t& side = config.tile[0] <= config.tile[1] ? config.tile[0] : config.tile[1];
    side *= 2;
    if (config.tile[0] > config.m || config.tile[1] > config.n) return;
    if (const auto fit = fit_of(config, machine_); fit && fit->ctas >= machine_.chip.sms) add(tile_option(config), config);
  }

  void longer_k() {
    Config config = config_;
    config.tile[2] *= 2;
    config.stages = std::max(1u, config.stages / 2);
    if (config.tile[2] <= config.k && !gemm::is_hopper_style(config.style) && !gemm::is_blackwell_style(config.style))
      add_if_fits(fmt::format("{} --stages {}", tile_option(config), config.stages), config);
  }

  void multicast() {
    if (config_.cluster != std::array<uint32_t, 2>{1, 1}) return;
    Config config = config_;
    if (config.style == "blackwell") {
      config.style = "blackwell-2cta";
      return add_if_fits("--style blackwell-2cta", config);
    }
    config.cluster = {2, 1};
    if (gemm::is_hopper_style(config.style) || config.style == "blackwell-ws") add_if_fits("--cluster 2x1", config);
  }

  void raster() {
    if (!persistent_style(config_.style)) return;
    Config config = config_;
    config.raster = config_.raster == "m" ? "n" : "m";
    add_if_fits(fmt::format("--raster {}", config.raster), config);
    config.raster = config_.raster;
    config.group = 2 * config_.group;
    add_if_fits(fmt::format("--raster-group {}", config.group), config);
  }

  void specialised() {
    Config config = config_;
    config.style = config_.style == "blackwell" ? "blackwell-ws" : config_.style == "hopper-tma" ? "hopper-ws" : "";
    if (!config.style.empty()) add_if_fits(fmt::format("--style {}", config.style), config);
  }

  /// Of a kernel for older machines: the matrix instructions of this one.
  void newer() {
    const std::vector<std::string> own = tool::own_styles(machine_);
    if (std::find(own.begin(), own.end(), config_.style) != own.end()) return;
    Config config = config_;
    config.style = own.size() > 1 ? own[1] : own[0];  // hopper-ws; blackwell-2cta needs pairs
    if (gemm::is_blackwell_style(config.style)) config.style = "blackwell-ws";
    std::string option = "--style " + config.style;
    if (gemm::is_hopper_style(config.style) || gemm::is_blackwell_style(config.style)) {
      config.swizzle = "none";
      config.tile = {128, 128, gemm::swizzled_row(config.dtype)};
      config.warps = {0, 0};
      config.stages = gemm::default_stages(config.style);
      option += fmt::format(" {} --stages {}", tile_option(config), config.stages);
    }
    add_if_fits(option, config);
  }

  const Config& config_;
  const Study& study_;
  const cfg::Machine& machine_;
  double predicted_;
  std::vector<Remedy> out_;
};

}  // namespace

Subject subject_of(const Config& config, const cfg::Machine& machine, Diagnostics& diags) {
  const gemm::Program program = gemm::generate(tool::for_machine(config, machine), diags);
  Subject subject;
  subject.kernel = {program.entry + ".ptx", program.ptx, std::nullopt};
  subject.launch_path = subject.kernel.path + ".toml";
  subject.launch_text = program.launch_toml;
  subject.zero_buffers = true;
  return subject;
}

bool persistent_style(const std::string& style) { return style == "hopper-cooperative" || style == "hopper-pingpong" || style == "blackwell-ws"; }

std::string why_no_more_stages(const Config& gemm, const cfg::Machine& machine) {
  if (holds_next_in_registers(gemm)) return fmt::format("more stages bring none: the {} style holds one tile ahead, in registers", gemm.style);
  if (gemm.stages >= useful_stages(gemm)) return fmt::format("more stages bring none: K has {} steps, all of them under way", k_steps(gemm));
  Config config = gemm;
  ++config.stages;
  Diagnostics diags;
  gemm::generate(tool::for_machine(config, machine), diags);
  return diags.has_errors()
             ? fmt::format("the {} style takes {} at most", gemm.style, gemm.stages == 1 ? "one stage" : fmt::format("{} stages", gemm.stages))
             : "";
}

std::vector<Remedy> remedies_of(LimitId limit, double predicted_cycles, const Config& gemm, const Study& study, const cfg::Machine& machine) {
  return Remedies(predicted_cycles, gemm, study, machine).of(limit);
}

std::vector<Remedy> more_ctas(const Config& gemm, const cfg::Machine& machine) {
  constexpr uint32_t kSmallestSide = 64;
  Config config = gemm;
  std::optional<Config> best;
  while (tiles_of(config) < machine.chip.sms) {
    uint32_t& side = config.tile[0] >= config.tile[1] ? config.tile[0] : config.tile[1];
    if (side <= kSmallestSide) break;
    side /= 2;
    if (fit_of(config, machine)) best = config;
  }
  if (!best) return {};
  return {{tile_option(*best), *best, 0, false}};
}

void try_remedies(const std::vector<Remedy*>& remedies, const cfg::Machine& machine, const StudyOptions& options) {
  if (remedies.empty()) return;
  std::vector<std::function<void()>> jobs;
  Tally tally(options.progress, remedies.size(), "runs with other options");
  for (Remedy* remedy : remedies)
    jobs.push_back([remedy, &machine, &options, &tally] {
      const tool::GemmTiming timing = tool::time_gemm(remedy->config, machine, {.threads = options.threads});
      remedy->simulated_cycles = timing.cycles;
      remedy->failure = timing.failure;
      tally.one_more();
    });
  tool::run_jobs(jobs, options.jobs);
}

}  // namespace tcsim::explain
