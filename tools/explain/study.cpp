#include "tools/explain/study.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "isa/ptx/load.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/make_report.h"
#include "sim/gpu/target_check.h"
#include "tools/launch/launch_file.h"
#include "tools/launch/prepare.h"
#include "tools/tcsim/gemm_best.h"

namespace tcsim::explain {
namespace {

/// The busiest SM's count.
double most(const sim::RunCounters& counters, sim::Counter counter) {
  uint64_t value = 0;
  for (const sim::CounterBlock& sm : counters.sms) value = std::max(value, sm[counter]);
  return static_cast<double>(value);
}

double l2_trip(const cfg::Machine& m) { return (m.l2.near_cycles + m.l2.far_cycles) / 2.0; }

/// The first CTAs start cold and the last store travels to L2; CTAs after the first of a place start with L2 warm, and those that share an
/// SM hide each other's start.
double exposed_latency(const sim::SimResult& r, const isa::LaunchInfo& launch, const cfg::Machine& m) {
  using sim::Counter;
  const double trip = l2_trip(m);
  const bool cold = r.counters.memory[Counter::dram_bytes_read] > 0;
  const double places = static_cast<double>(m.chip.sms) * r.occupancy.ctas_per_sm;
  const double starts = std::ceil(static_cast<double>(launch.grid.count()) / places);
  return (cold ? cold_load_cycles(m) : trip) + trip + (starts - 1) * trip / r.occupancy.ctas_per_sm;
}

LaunchTime time_of(const sim::SimResult& r, const isa::LaunchInfo& launch, const cfg::Machine& m) {
  using sim::Counter;
  const sim::CounterBlock& memory = r.counters.memory;
  LaunchTime t;
  t.cycles = static_cast<double>(r.cycles);
  t.kernel_cycles = static_cast<double>(r.kernel_cycles);
  t.dram_cycles = static_cast<double>(memory[Counter::dram_bytes_read] + memory[Counter::dram_bytes_write]) / m.dram.bytes_per_cycle;
  const double l2_bytes = static_cast<double>(memory[Counter::l2_sectors]) * m.l2.sector_bytes;
  t.l2_cycles = std::max(l2_bytes / (m.l2.slices * m.l2.slice_bytes_per_cycle), most(r.counters, Counter::l1_fill_bytes) / m.l1.fill_bytes_per_cycle);
  if (m.tma.request_bytes_per_cycle > 0) t.tma_cycles = most(r.counters, Counter::tma_bytes) / m.tma.request_bytes_per_cycle;
  t.loaded_bytes = std::max(most(r.counters, Counter::l1_fill_bytes), most(r.counters, Counter::tma_bytes));
  t.exposed_cycles = exposed_latency(r, launch, m);
  return t;
}

uint32_t given_registers(const Subject& subject, const isa::Kernel& kernel) {
  return launch::given_registers(subject.registers, kernel, subject.kernel.triton ? &*subject.kernel.triton : nullptr);
}

bool lifted(const std::vector<Roof>& roofs, Roof roof) { return std::find(roofs.begin(), roofs.end(), roof) != roofs.end(); }

bool overlap(const Limit& a, const Limit& b) {
  if (a.keeps_roofs && b.keeps_roofs) return true;
  const auto includes = [](const Limit& outer, const Limit& inner) {
    if (std::find(outer.includes.begin(), outer.includes.end(), inner.id) != outer.includes.end()) return true;
    // All that the inner one changes, the outer one changes too, and its roofs no longer hold there.
    return !inner.lifts.overrides.empty() && inner.lifts.roofs.empty() &&
           std::all_of(inner.lifts.overrides.begin(), inner.lifts.overrides.end(), [&](const Override& o) {
             return std::any_of(outer.lifts.overrides.begin(), outer.lifts.overrides.end(), [&](const Override& p) { return p.key == o.key; });
           });
  };
  return includes(a, b) || includes(b, a);
}

bool can_bind(const Limit& limit, const sim::CounterBlock& counters) {
  return limit.needs.empty() || std::any_of(limit.needs.begin(), limit.needs.end(), [&](sim::Counter c) { return counters[c] != 0; });
}

uint64_t ctas_of_longest(const Timing& timing) {
  const auto longest =
      std::max_element(timing.launches.begin(), timing.launches.end(), [](const LaunchTime& a, const LaunchTime& b) { return a.cycles < b.cycles; });
  if (longest == timing.launches.end()) return 0;
  const auto& grid = timing.reports[static_cast<size_t>(longest - timing.launches.begin())].launch.grid;
  return uint64_t{grid[0]} * grid[1] * grid[2];
}

/// A set of runs side by side, each told to `progress`.
class Batch {
 public:
  Batch(const Subject& subject, const cfg::Machine& machine, const Timing& base, const StudyOptions& options)
      : subject_(subject), machine_(machine), base_(base), options_(options) {}

  void add(Lifts lifts, bool keeps_roofs, double& cycles, std::string& failure) {
    jobs_.push_back([this, lifts = std::move(lifts), keeps_roofs, &cycles, &failure] {
      Diagnostics diags;
      const Timing timing = time_subject(subject_, machine_, &lifts, options_.threads, diags);
      failure = timing.failure;
      cycles = !failure.empty() ? base_.cycles() : keeps_roofs ? bounded_cycles(timing, base_, lifts.roofs) : timing.cycles();
      tally_->one_more();
    });
  }
  void run(std::string_view what) {
    tally_.emplace(options_.progress, jobs_.size(), what);
    tool::run_jobs(jobs_, options_.jobs);
    jobs_.clear();
  }

 private:
  const Subject& subject_;
  const cfg::Machine& machine_;
  const Timing& base_;
  const StudyOptions& options_;
  std::vector<std::function<void()>> jobs_;
  std::optional<Tally> tally_;
};

/// The best few against each other; more of them when none does much alone.
std::vector<PairRow> choose_pairs(const std::vector<Row>& rows, double base_cycles) {
  constexpr size_t kFew = 3, kMore = 4;
  if (rows.empty()) return {};
  const size_t count = base_cycles / rows.front().cycles - 1 < kSmallGain ? kMore : kFew;
  std::vector<const Limit*> chosen;
  for (const Row& row : rows) {
    const bool distinct = std::none_of(chosen.begin(), chosen.end(), [&](const Limit* other) { return overlap(*other, *row.limit); });
    if (row.run && row.failure.empty() && distinct && chosen.size() < count) chosen.push_back(row.limit);
  }
  std::vector<PairRow> pairs;
  for (size_t i = 0; i < chosen.size(); ++i)
    for (size_t j = i + 1; j < chosen.size(); ++j) pairs.push_back({chosen[i], chosen[j]});
  return pairs;
}

double saved(const std::vector<Row>& rows, const Limit* limit, double base_cycles) {
  const auto row = std::find_if(rows.begin(), rows.end(), [limit](const Row& r) { return r.limit == limit; });
  return row == rows.end() ? 0 : std::max(0.0, base_cycles - row->cycles);
}

void run_pairs(Study& study, Batch& batch) {
  const double base = study.cycles();
  study.pairs = choose_pairs(study.rows, base);
  std::vector<std::string> failures(study.pairs.size());
  for (size_t i = 0; i < study.pairs.size(); ++i) {
    PairRow& pair = study.pairs[i];
    Lifts both = pair.first->lifts;
    both += pair.second->lifts;
    batch.add(std::move(both), pair.first->keeps_roofs || pair.second->keeps_roofs, pair.cycles, failures[i]);
  }
  batch.run("runs with two limits lifted");
  for (PairRow& pair : study.pairs) {
    const double apart = saved(study.rows, pair.first, base) + saved(study.rows, pair.second, base);
    pair.both_needed = base - pair.cycles > apart + kSmallGain * base;
  }
  std::sort(study.pairs.begin(), study.pairs.end(), [](const PairRow& a, const PairRow& b) { return a.cycles < b.cycles; });
}

bool only_tensor_pipe(const Study& study) {
  return std::all_of(study.rows.begin(), study.rows.end(), [&](const Row& row) {
    const bool tensor = row.limit->id == LimitId::tensor_pipe;
    return tensor == (study.gain(row.cycles) >= kSmallGain);
  });
}

}  // namespace

double cold_load_cycles(const cfg::Machine& m) { return l2_trip(m) + m.dram.extra_cycles + m.dram.tlb_miss_cycles; }

double LaunchTime::roof(const std::vector<Roof>& roofs) const {
  const double dram = lifted(roofs, Roof::dram) ? 0 : dram_cycles, l2 = lifted(roofs, Roof::l2) ? 0 : l2_cycles,
               tma = lifted(roofs, Roof::tma) ? 0 : tma_cycles;
  return cycles - kernel_cycles + std::max({dram, l2, tma});
}

double Timing::cycles() const {
  double sum = 0;
  for (const LaunchTime& launch : launches) sum += launch.cycles;
  return sum;
}

double Study::outside_cycles() const {
  double outside = 0;
  for (const LaunchTime& launch : base.launches) outside += launch.cycles - launch.kernel_cycles;
  return outside;
}

double bounded_cycles(const Timing& timing, const Timing& base, const std::vector<Roof>& lifted_roofs) {
  double sum = 0;
  for (size_t i = 0; i < timing.launches.size(); ++i) {
    const LaunchTime& ordinary = base.launches[i];
    const double hidden = std::max(timing.launches[i].cycles, ordinary.roof(lifted_roofs));
    sum += std::max(hidden, std::min(hidden + ordinary.exposed_cycles, ordinary.cycles));
  }
  return sum;
}

Timing time_subject(const Subject& subject, const cfg::Machine& machine, const Lifts* lifts, uint32_t threads, Diagnostics& diags,
                    const Progress& progress) {
  Timing out;
  auto file = launch::parse_launch_file(subject.launch_path, subject.launch_text, diags);
  const auto kernels = file ? launch::kernel_names(*file, subject.entry) : std::vector<std::string>{};
  const auto module = isa::load_kernels(subject.kernel.path, subject.kernel.text, diags, kernels);
  const auto fail = [&] {
    out.failure = tool::first_error(diags);
    return out;
  };
  if (!module || !file || diags.has_errors() || !sim::check_target(*module, machine, diags)) return fail();
  if (subject.zero_buffers)
    for (launch::BufferSpec& buffer : file->buffers) buffer.init = launch::Init::zeros;
  launch::Workspace work;
  const launch::PrepareOptions prepare{subject.seed, subject.entry, subject.kernel.triton ? &*subject.kernel.triton : nullptr};
  if (!launch::prepare(*file, *module, prepare, work, diags)) return fail();
  const cfg::Machine simulated = lifts == nullptr ? machine : lift(machine, *lifts);
  sim::SimOptions options;
  options.mode = sim::Mode::timing;
  options.threads = threads;
  if (lifts != nullptr) options.lifted = lifts->switches, options.compiled_for = &machine;
  if (progress) options.progress = [&](const sim::SimOptions::Progress& p) { progress(p.ctas_done, p.ctas_total, "CTAs of the kernel as it is"); };
  for (const launch::BoundLaunch& bound : work.launches) {
    options.registers = given_registers(subject, *bound.kernel);
    const sim::SimResult result = sim::simulate(*module, *bound.kernel, bound.info, work.memory, simulated, options, diags);
    if (!result.ok) return fail();
    out.launches.push_back(time_of(result, bound.info, simulated));
    for (const sim::CounterBlock& sm : result.counters.sms) out.counters.merge(sm);
    if (lifts == nullptr) out.reports.push_back(sim::make_report(result, *module, *bound.kernel, bound.info, machine, options));
  }
  return out;
}

namespace {

bool holds(const std::vector<LimitId>& list, LimitId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

/// To before the first of the rows that it is wider than and brings half of.
void move_wider_up(std::vector<Row>& rows, double base_cycles) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto outer = rows.begin() + static_cast<std::ptrdiff_t>(i);
    const auto inner = std::find_if(rows.begin(), outer, [&](const Row& row) {
      return holds(outer->limit->wider_than, row.limit->id) && 2 * (base_cycles - outer->cycles) > base_cycles - row.cycles;
    });
    std::rotate(inner, outer, outer + (inner == outer ? 0 : 1));
  }
}

}  // namespace

void rank(std::vector<Row>& rows, double base_cycles) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.cycles < b.cycles; });
  move_wider_up(rows, base_cycles);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row outer = rows[i];
    const auto narrower = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, rows.end(), [&](const Row& row) {
      return holds(outer.limit->includes, row.limit->id) && 2 * (base_cycles - row.cycles) > base_cycles - outer.cycles;
    });
    if (narrower == rows.end()) continue;
    std::rotate(rows.begin() + static_cast<std::ptrdiff_t>(i), narrower, narrower + 1);
  }
}

Study run_study(const Subject& subject, const cfg::Machine& machine, const StudyOptions& options, Diagnostics& diags) {
  Study study;
  study.base = time_subject(subject, machine, nullptr, options.threads, diags, options.progress);
  if (!study.base.failure.empty()) return study;
  study.ctas = ctas_of_longest(study.base);
  study.sms = machine.chip.sms;
  study.floor_keeps = &limit_of(can_bind(limit_of(LimitId::tensor_pipe), study.base.counters) ? LimitId::tensor_pipe : LimitId::arithmetic);
  Batch batch(subject, machine, study.base, options);
  for (const Limit& limit : limits()) study.rows.push_back({&limit, study.cycles(), can_bind(limit, study.base.counters)});
  std::string floor_failure;
  Lifts all;
  for (Row& row : study.rows) {
    if (row.limit != study.floor_keeps) all += row.limit->lifts;
    if (row.run) batch.add(row.limit->lifts, row.limit->keeps_roofs, row.cycles, row.failure);
  }
  batch.add(std::move(all), false, study.floor_cycles, floor_failure);
  batch.run("runs with a limit lifted");
  if (!floor_failure.empty()) study.floor_cycles = 0;
  rank(study.rows, study.cycles());
  run_pairs(study, batch);
  study.only_tensor_pipe = only_tensor_pipe(study);
  return study;
}

}  // namespace tcsim::explain
