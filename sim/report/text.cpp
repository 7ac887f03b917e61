#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/text_parts.h"

namespace tcsim::sim {
namespace {

using text::amount;
using text::count;
using text::fit;
using text::fit_place;
using text::pad;
using text::pad_left;
using text::share;

constexpr size_t kBar = 20;

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// Dimensions without trailing ones: 64, 8x8.
std::string shape(const std::array<uint32_t, 3>& v) {
  std::string out = fmt::format("{}", v[0]);
  if (v[1] != 1 || v[2] != 1) out += fmt::format("x{}", v[1]);
  if (v[2] != 1) out += fmt::format("x{}", v[2]);
  return out;
}

class Writer {
 public:
  Writer(const Report& report, const TextOptions& options) : r_(report), paint_{options} {}

  std::string write() {
    head();
    if (r_.timed()) {
      roofline();
      stalls();
      costliest();
      conflicts();
      memory();
      barriers();
    }
    check();
    diagnostics();
    foot();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void head() {
    const std::string left = fmt::format("{} on {} (sm_{}, {} SMs)", r_.kernel, r_.arch.name, r_.arch.sm, r_.arch.sms);
    const double rate = ratio(static_cast<double>(r_.simulated_warp_instructions), r_.wall_s);
    const std::string right = fmt::format("{} mode, {} warp instructions in {:.2f} s ({})", r_.mode,
                                          amount(static_cast<double>(r_.simulated_warp_instructions), ""), r_.wall_s, amount(rate, "/s"));
    line("{}{}", paint_.bold(fit(left, 60)),
         left.size() + right.size() + 2 <= text::kColumns ? paint_.dim(pad_left(right, text::kColumns - left.size()))
                                                          : fmt::format("\n{}", paint_.dim(right)));
    out_ += paint_.rule();
    if (r_.timed()) headline();
    launch();
  }

  void headline() {
    std::string text = fmt::format("{} cycles   {:.4g} us at {:.0f} MHz", count(static_cast<double>(r_.cycles)), r_.time_us(), r_.arch.clock_mhz);
    const Roofline& f = r_.roofline;
    if (f.flops > 0) {
      text += fmt::format("   {:.4g} TFLOPS", r_.tflops());
      if (f.peak_flops_per_cycle > 0) {
        text += fmt::format("   {} of the {} peak", share(ratio(f.flops, f.peak_flops_per_cycle * static_cast<double>(r_.cycles))), f.peak_name);
      }
    }
    line("{}", paint_.bold(text));
  }

  void launch() {
    const ReportLaunch& l = r_.launch;
    const double ctas = static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2];
    const double threads = static_cast<double>(l.block[0]) * l.block[1] * l.block[2];
    std::string text = fmt::format("grid {} x block {}: {} CTAs of {:.0f} warps, {} B shared", shape(l.grid), shape(l.block), count(ctas),
                                   std::ceil(threads / 32), count(l.dynamic_smem_bytes + static_cast<double>(l.static_smem_bytes)));
    if (r_.timed()) { text += fmt::format(", {} registers{}", l.registers_per_thread, l.registers_estimated ? " (estimated; give --regs)" : ""); }
    line("{}", text);
    if (!r_.timed() || l.ctas_per_sm == 0) return;
    const double warps = static_cast<double>(l.ctas_per_sm) * l.warps_per_cta;
    line("occupancy: {} CTA{} = {:.0f} of {} warps an SM, limited by {}; {:.2f} waves; {} achieved", l.ctas_per_sm, l.ctas_per_sm == 1 ? "" : "s",
         warps, r_.arch.max_warps_per_sm, l.limiter, r_.metric("launch__waves_per_multiprocessor"),
         share(r_.metric("sm__warps_active.avg.pct_of_peak_sustained_active") / 100));
  }

  /// The lower of the roofs at the run's intensity, and how much of each resource was used.
  void roofline() {
    const std::vector<ResourceUse> uses = resource_uses(r_);
    if (uses.empty()) return;
    out_ += paint_.heading("Roofline", intensity());
    const auto most = std::max_element(uses.begin(), uses.end(), [](const ResourceUse& a, const ResourceUse& b) { return a.used < b.used; });
    for (const ResourceUse& use : uses) {
      const std::string name = pad(fit(use.name, 34), 34);
      line("  {} {}  {}", &use == &*most ? paint_.bold(name) : name, pad_left(share(use.used), 7), paint_.bar(use.used, kBar));
    }
    line("  {}", verdict(r_));
  }

  std::string intensity() const {
    const Roofline& f = r_.roofline;
    if (f.flops <= 0) return "";
    const auto part = [&](std::string_view name, double bytes, double bandwidth) {
      if (bytes <= 0) return std::string();
      std::string out = fmt::format("{:.3g} FLOP per {} byte", f.flops / bytes, name);
      if (bandwidth > 0 && f.peak_flops_per_cycle > 0) out += fmt::format(" (ridge {:.3g})", f.peak_flops_per_cycle / bandwidth);
      return out;
    };
    const std::string dram = part("DRAM", f.dram_bytes, f.dram_bytes_per_cycle), l2 = part("L2", f.l2_bytes, f.l2_bytes_per_cycle);
    return fmt::format("{}{}{}", dram, dram.empty() || l2.empty() ? "" : ", ", l2);
  }

  void stalls() {
    const auto shares = stall_shares(r_.stalls);
    std::vector<size_t> order;
    for (size_t i = 0; i < kStallReasons; ++i) {
      if (shares[i] >= 0.005) order.push_back(i);
    }
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
    out_ += paint_.heading("Where warps wait", "share of active warp-cycles; each has one reason");
    for (const size_t i : order) {
      const StallInfo& s = kStallTable[i];
      const bool large = shares[i] > 0.3 && s.reason != StallReason::selected && s.reason != StallReason::not_selected;
      line("  {} {}  {}  {}", large ? paint_.bold(pad(s.name, 20)) : pad(s.name, 20), pad_left(share(shares[i]), 7), paint_.bar(shares[i], kBar),
           paint_.dim(s.meaning));
    }
  }

  void costliest() {
    std::vector<const ReportInstruction*> order;
    double all = 0;
    for (const ReportInstruction& i : r_.instructions) {
      all += static_cast<double>(i.cycles());
      if (i.waiting_cycles() > 0) order.push_back(&i);
    }
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->waiting_cycles() > b->waiting_cycles(); });
    order.resize(std::min<size_t>(order.size(), paint_.options.top));
    out_ += paint_.heading("Costliest instructions", "warp-cycles that warps waited before issuing them");
    for (const ReportInstruction* i : order) {
      line("  {}  {}  {}", pad_left(share(ratio(static_cast<double>(i->waiting_cycles()), all)), 7), pad(fit(i->text, 50), 50),
           fit_place(where(*i), 36));
      line("           {}", paint_.dim(main_stalls(*i)));
    }
  }

  static std::string where(const ReportInstruction& i) { return i.source.empty() ? i.place : i.source; }

  static std::string main_stalls(const ReportInstruction& i) {
    std::vector<size_t> order;
    for (size_t r = 0; r < kStallReasons; ++r) {
      const auto reason = static_cast<StallReason>(r);
      if (i.stalls[r] > 0 && reason != StallReason::selected && reason != StallReason::not_selected) order.push_back(r);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return i.stalls[a] > i.stalls[b]; });
    std::string out = fmt::format("{} executed", count(static_cast<double>(i.executed)));
    for (size_t n = 0; n < order.size() && n < 2; ++n) {
      out += fmt::format(", {} {}", kStallTable[order[n]].name,
                         share(ratio(static_cast<double>(i.stalls[order[n]]), static_cast<double>(i.waiting_cycles()))));
    }
    return out;
  }

  void conflicts() {
    std::vector<const ReportInstruction*> order;
    for (const ReportInstruction& i : r_.instructions) {
      if (i.conflicts() > 0) order.push_back(&i);
    }
    const double wavefronts = r_.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
    if (order.empty()) {
      if (wavefronts > 0) line("\n{}  none: {} shared-memory wavefronts, all needed", paint_.bold("Bank conflicts"), count(wavefronts));
      return;
    }
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->conflicts() > b->conflicts(); });
    double all = 0;
    for (const auto* i : order) all += static_cast<double>(i->conflicts());
    out_ += paint_.heading("Bank conflicts",
                           fmt::format("{} of {} shared-memory wavefronts ({})", count(all), count(wavefronts), share(ratio(all, wavefronts))));
    for (size_t n = 0; n < order.size() && n < paint_.options.top; ++n) {
      const ReportInstruction& i = *order[n];
      const double factor = ratio(static_cast<double>(i.wavefronts), static_cast<double>(i.wavefronts_ideal));
      line("  {}  {}  {}", paint_.warn(pad_left(fmt::format("{:.1f}x", factor), 7)), pad(fit(i.text, 50), 50), fit_place(where(i), 36));
      line("           {}", paint_.dim(fmt::format("{} wavefronts, {} ideal", count(static_cast<double>(i.wavefronts)),
                                                   count(static_cast<double>(i.wavefronts_ideal)))));
      if (!i.note.empty()) line("           {}", paint_.dim(fit(i.note, 88)));
    }
    if (order.size() > paint_.options.top) line("  and {} more instructions", order.size() - paint_.options.top);
  }

  void memory() {
    if (r_.metrics.empty()) return;
    out_ += paint_.heading("Memory", "bytes moved, hit rate, share of the peak over the run");
    const auto row = [&](std::string_view name, double bytes, const std::string& hit, double used) {
      line("  {} {}  {}  {}", pad(name, 20), pad_left(amount(bytes, "B"), 10), pad(hit, 16), pad_left(share(used / 100), 7));
    };
    const auto hit_rate = [&](const char* metric, const char* sectors) {
      return r_.metric(sectors) > 0 ? fmt::format("{} hits", share(r_.metric(metric) / 100)) : std::string();
    };
    line("  {} {} wavefronts, {} loads {} stores", pad("shared memory", 20),
         pad_left(count(r_.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")), 10),
         count(r_.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")),
         count(r_.metric("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")));
    row("L1", 32 * r_.metric("l1tex__t_sectors.sum"), hit_rate("l1tex__t_sector_hit_rate.pct", "l1tex__t_sectors.sum"),
        r_.metric("l1tex__t_sectors.avg.pct_of_peak_sustained_elapsed"));
    row("L2", 32 * r_.metric("lts__t_sectors.sum"), hit_rate("lts__t_sector_hit_rate.pct", "lts__t_sectors.sum"),
        r_.metric("lts__t_sectors.sum.pct_of_peak_sustained_elapsed"));
    if (r_.metric("sim__tma_instructions.sum") > 0)
      line("  {} {}  {} copies; in flight on an SM: {} on average, {} at most", pad("TMA", 20),
           pad_left(amount(r_.metric("sim__tma_bytes.sum"), "B"), 10), count(r_.metric("sim__tma_instructions.sum")),
           amount(r_.metric("sim__tma_bytes_in_flight.avg.per_cycle_active"), "B"), amount(r_.metric("sim__tma_bytes_in_flight.max"), "B"));
    row("DRAM read", r_.metric("dram__bytes_read.sum"), "", r_.metric("dram__bytes_read.sum.pct_of_peak_sustained_elapsed"));
    row("DRAM write", r_.metric("dram__bytes_write.sum"), "", r_.metric("dram__bytes_write.sum.pct_of_peak_sustained_elapsed"));
  }

  void barriers() {
    const bool any = std::any_of(r_.barriers.begin(), r_.barriers.end(), [](const ReportBarrier& b) { return b.waits > 0; });
    if (!any) return;
    const bool mbarriers =
        std::any_of(r_.barriers.begin(), r_.barriers.end(), [](const ReportBarrier& b) { return b.kind != ReportBarrier::Kind::cta; });
    out_ += paint_.heading("Barriers", mbarriers ? "share of active warp-cycles that warps were suspended" : "");
    for (const ReportBarrier& b : r_.barriers) {
      if (b.waits == 0 || b.kind != ReportBarrier::Kind::cta) continue;
      line("  {} {} waits, {:.0f} cycles each", pad(fit(b.name, 20), 20), pad_left(count(static_cast<double>(b.waits)), 10),
           ratio(static_cast<double>(b.wait_cycles), static_cast<double>(b.waits)));
    }
    if (mbarriers) out_ += text::mbarrier_lines(r_, paint_);
  }

  void check() {
    if (!r_.check) return;
    const ReportCheck& c = *r_.check;
    const std::string numbers = fmt::format("{} elements, largest error {:.3g}, {:.3g} ulp, relative L2 {:.3g}",
                                            count(static_cast<double>(c.elements)), c.max_abs, c.max_ulp, c.rel_l2);
    if (c.passed) return line("\n{}  {}", paint_.good(paint_.bold("Result correct")), numbers);
    line("\n{}  {} of {}", paint_.bad(paint_.bold("Result WRONG")), count(static_cast<double>(c.failures)), numbers);
    if (!c.first_failure.empty()) line("  first: {}", c.first_failure);
  }

  void diagnostics() {
    if (r_.diagnostics.empty()) return;
    out_ += paint_.heading("Messages");
    constexpr size_t most = 10;
    for (size_t i = 0; i < r_.diagnostics.size() && i < most; ++i) {
      const Diagnostic& d = r_.diagnostics[i];
      const std::string text = d.str();
      line("  {}", d.severity == Severity::error ? paint_.bad(text) : d.severity == Severity::warning ? paint_.warn(text) : text);
    }
    if (r_.diagnostics.size() > most) line("  and {} more (all are in --json)", r_.diagnostics.size() - most);
  }

  void foot() {
    if (!r_.timed()) return;
    out_ += "\n";
    std::string text = fmt::format("{} of {} machine values are assumed", r_.arch.assumed_values, r_.arch.values);
    for (const auto& [key, value] : r_.arch.set) text += fmt::format("; {} = {} (--set)", key, value);
    line("{}", paint_.dim(fmt::format("{}: tcsim arch show {}", text, r_.arch.name)));
    for (size_t i = 0; i < r_.not_modelled.size(); ++i) {
      line("{}", paint_.dim(fmt::format("{:<14}{}", i == 0 ? "not modelled:" : "", r_.not_modelled[i])));
    }
  }

  const Report& r_;
  text::Paint paint_;
  std::string out_;
};

}  // namespace

std::string write_text(const Report& report, const TextOptions& options) { return Writer(report, options).write(); }

}  // namespace tcsim::sim
