#include "tools/tcsim/gemm_best.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

namespace tcsim::tool {
namespace {

std::vector<std::array<uint32_t, 3>> with_k(const std::vector<std::array<uint32_t, 3>>& tiles, const std::string& style, const std::string& dtype) {
  std::vector<std::array<uint32_t, 3>> out;
  const uint32_t row = gemm::swizzled_row(dtype);
  const std::vector<uint32_t> lengths = style == "simt" ? std::vector<uint32_t>{8, 16} : std::vector<uint32_t>{row / 2, row};
  for (const auto& tile : tiles) {
    if (tile[2] != 0) out.push_back(tile);
    else
      for (const uint32_t k : lengths) out.push_back({tile[0], tile[1], k});
  }
  return out;
}

/// The configuration with the first swizzle that builds; nullopt with the reason.
std::optional<Candidate> try_candidate(gemm::Config config, const cfg::Machine& machine, const std::vector<std::string>& swizzles,
                                       std::string& refusal) {
  for (const std::string& swizzle : swizzles) {
    config.swizzle = swizzle;
    Diagnostics diags;
    if (const auto kernel = build_gemm(config, machine, diags))
      return Candidate{kernel->config, analytic::estimate(describe_gemm(*kernel, machine), machine)};
    refusal = first_error(diags);
  }
  return std::nullopt;
}

bool divides(const gemm::Config& c) { return c.tile[0] <= c.m && c.tile[1] <= c.n && c.tile[2] <= c.k; }

/// The estimate does not see how evenly loads come, nor what a step of K costs beyond its work: of near equals (3 %), more bytes in flight
/// ride out more, in larger steps.
void sort_by_estimate(std::vector<Candidate>& list) {
  const auto key = [](const Candidate& c) {
    const auto rank = static_cast<int64_t>(std::log(c.estimate.cycles) / std::log(1.03));
    return std::tuple(rank, -int64_t{c.config.tile[2]} * c.config.stages, -int64_t{c.config.tile[2]}, c.estimate.cycles);
  };
  std::stable_sort(list.begin(), list.end(), [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

/// The best of each style, then the best of all, until so many: styles differ in ways that the estimate does not know.
std::vector<size_t> kept_of(const std::vector<Candidate>& ranked) {
  std::vector<size_t> kept;
  std::set<std::string> styles;
  for (size_t i = 0; i < ranked.size() && kept.size() < kKept; ++i)
    if (styles.insert(ranked[i].config.style).second) kept.push_back(i);
  for (size_t i = 0; i < ranked.size() && kept.size() < kKept; ++i)
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) kept.push_back(i);
  return kept;
}

/// Shared state of a search: one entry a contest.
struct Entry {
  const Contest* contest;
  Candidates candidates;
  struct Run {
    Candidate candidate;
    SamplePlan plan;
    std::vector<GemmTiming> parts;
    GemmTiming timing;
  };
  std::vector<Run> runs;
  Run* winner = nullptr;  // sampled again, longer, when it is known
  // At the size where the error is measured: the sample's parts, then the whole launch.
  SamplePlan error_plan;
  std::vector<GemmTiming> error_parts;
};

using Jobs = std::vector<std::function<void()>>;

void plan_runs(Entry& e) {
  const cfg::Machine& machine = e.contest->machine;
  for (const size_t i : kept_of(e.candidates.ranked)) {
    Entry::Run run{e.candidates.ranked[i], {}, {}, {}};
    Diagnostics diags;
    run.plan = plan_sample(*build_gemm(run.candidate.config, machine, diags), machine, SampleFor::ranking);
    run.parts.resize(run.plan.parts.size());
    e.runs.push_back(std::move(run));
  }
}

void choose_winner(Entry& e) {
  for (Entry::Run& run : e.runs) {
    run.timing = extrapolate(run.plan, run.parts);
    if (run.timing.failure.empty() && !impossible(run.timing) && (e.winner == nullptr || run.timing.cycles < e.winner->timing.cycles))
      e.winner = &run;
  }
}

/// The winner's own number: from a longer sample, or the whole launch where a sample turns out not to stand for it.
void plan_answer(Entry& e, bool whole) {
  if (e.winner == nullptr || e.winner->plan.whole()) return;
  const cfg::Machine& machine = e.contest->machine;
  const gemm::Config& config = e.winner->candidate.config;
  Diagnostics diags;
  e.winner->plan = whole ? SamplePlan::of_whole(config.k, machine) : plan_sample(*build_gemm(config, machine, diags), machine, SampleFor::answer);
  e.winner->parts.assign(e.winner->plan.parts.size(), {});
}

gemm::Config at_error_size(gemm::Config config) {
  config.m = config.n = config.k = kErrorSize;
  return config;
}

void plan_error(Entry& e) {
  if (e.winner == nullptr || e.winner->plan.whole()) return;
  Diagnostics diags;
  const auto kernel = build_gemm(at_error_size(e.winner->candidate.config), e.contest->machine, diags);
  if (!kernel) return;
  e.error_plan = plan_sample(*kernel, e.contest->machine);
  e.error_parts.resize(e.error_plan.parts.size() + 1);
}

GemmRow row_of(const Entry& e) {
  GemmRow row;
  row.arch = e.contest->arch;
  row.clock_mhz = e.contest->machine.chip.clock_mhz;
  row.considered = e.candidates.considered;
  row.feasible = e.candidates.feasible;
  row.simulated = static_cast<uint32_t>(e.runs.size());
  if (e.winner == nullptr) {
    row.failure = e.runs.empty() ? e.candidates.refusal : e.runs.front().timing.failure;
    return row;
  }
  row.config = e.winner->candidate.config;
  row.estimate = e.winner->candidate.estimate;
  row.timing = e.winner->timing;
  row.sampled_work = e.winner->plan.work;
  if (e.error_parts.empty()) return row;
  const GemmTiming &whole = e.error_parts.back(), sampled = extrapolate(e.error_plan, {e.error_parts.begin(), e.error_parts.end() - 1});
  if (whole.failure.empty() && sampled.failure.empty()) {
    row.sampling_error = sampled.cycles / whole.cycles - 1;
    row.error_size = kErrorSize;
  }
  return row;
}

}  // namespace

std::vector<std::string> own_styles(const cfg::Machine& machine) {
  const std::string& g = machine.chip.generation;
  if (g == "volta") return {"volta", "wmma"};
  if (g == "turing") return {"turing"};
  if (g == "hopper") return {"hopper-tma", "hopper-ws", "hopper-cooperative", "hopper-pingpong"};
  if (g == "blackwell") return {"blackwell", "blackwell-2cta", "blackwell-ws"};
  return {"ampere"};
}

std::string default_style(const cfg::Machine& machine) {
  const std::string own = own_styles(machine).front();
  return gemm::is_mma_sync_style(own) ? own : "ampere";
}

SearchSpace whole_space(const cfg::Machine& machine) {
  SearchSpace space;
  space.styles = own_styles(machine);
  for (const uint32_t m : {64u, 128u, 256u})
    for (const uint32_t n : {64u, 128u, 256u}) space.tiles.push_back({m, n, 0});
  space.stages = {1, 2, 3, 4, 5, 6};
  space.clusters = {{1, 1}};
  if (machine.chip.sm >= 90) space.clusters.push_back({2, 1});
  return space;
}

Candidates rank_candidates(const gemm::Config& base, const cfg::Machine& machine, const SearchSpace& space) {
  Candidates out;
  std::vector<Candidate> all;
  for (const std::string& style : space.styles)
    for (const auto& tile : with_k(space.tiles, style, base.dtype))
      for (const auto& cluster : space.clusters)
        for (const uint32_t stages : space.stages) {
          gemm::Config config = base;
          config.style = style, config.tile = tile, config.cluster = cluster, config.stages = stages;
          if (!divides(config)) continue;
          ++out.considered;
          if (auto candidate = try_candidate(config, machine, space.swizzles, out.refusal)) all.push_back(std::move(*candidate));
        }
  out.feasible = static_cast<uint32_t>(all.size());
  sort_by_estimate(all);
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen;
  for (Candidate& candidate : all)
    if (seen.emplace(candidate.config.style, candidate.config.tile[0], candidate.config.tile[1]).second) out.ranked.push_back(std::move(candidate));
  return out;
}

void run_jobs(const std::vector<std::function<void()>>& jobs, uint32_t threads) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&] {
    for (size_t i; (i = next.fetch_add(1)) < jobs.size();) try {
        jobs[i]();
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
  };
  std::vector<std::thread> workers;
  for (uint32_t i = 1; i < threads; ++i) workers.emplace_back(take);
  take();
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<GemmRow> run_best(const std::vector<Contest>& contests, uint32_t threads, const std::function<void(uint64_t, uint64_t)>& told) {
  std::vector<Entry> entries;
  for (const Contest& contest : contests) entries.push_back({&contest, {}, {}, nullptr, {}, {}});
  std::mutex mutex;
  uint64_t done = 0, total = contests.size() * (1 + 4 * kKept + 5);  // parts are four at most; corrected as the plans are made
  const auto job = [&](std::function<void()> work) {
    return [&, work = std::move(work)] {
      work();
      const std::lock_guard lock(mutex);
      told(++done, total);
    };
  };
  Jobs jobs;
  for (Entry& e : entries)
    jobs.push_back(job([&e] {
      e.candidates = rank_candidates(e.contest->base, e.contest->machine, e.contest->space);
      plan_runs(e);
    }));
  run_jobs(jobs, threads);

  jobs.clear();
  for (Entry& e : entries)
    for (Entry::Run& run : e.runs)
      for (size_t i = run.parts.size(); i-- > 0;)  // long ones first: they end the evenest
        jobs.push_back(job([&e, &run, i] { run.parts[i] = time_part(run.candidate.config, e.contest->machine, run.plan.parts[i]); }));
  total = done + jobs.size() + contests.size() * 3;
  run_jobs(jobs, threads);

  const auto run_winners = [&](bool again) {
    jobs.clear();
    for (Entry& e : entries) {
      if (e.winner == nullptr || e.winner->plan.whole() || (again && !impossible(e.winner->timing))) continue;
      plan_answer(e, again);
      for (size_t i = e.winner->parts.size(); i-- > 0;)
        jobs.push_back(job([&e, i] { e.winner->parts[i] = time_part(e.winner->candidate.config, e.contest->machine, e.winner->plan.parts[i]); }));
    }
    total = done + jobs.size() + contests.size() * 3;
    run_jobs(jobs, threads);
    for (Entry& e : entries)
      if (e.winner != nullptr) e.winner->timing = extrapolate(e.winner->plan, e.winner->parts);
  };
  for (Entry& e : entries) choose_winner(e);
  run_winners(false);
  run_winners(true);

  jobs.clear();
  for (Entry& e : entries) {
    plan_error(e);
    for (size_t i = e.error_parts.size(); i-- > 0;)
      jobs.push_back(job([&e, i] {
        const SamplePart whole{1, kErrorSize, 0, e.contest->machine.l2.bytes};
        e.error_parts[i] =
            time_part(at_error_size(e.winner->candidate.config), e.contest->machine, i < e.error_plan.parts.size() ? e.error_plan.parts[i] : whole);
      }));
  }
  total = done + jobs.size();
  run_jobs(jobs, threads);

  std::vector<GemmRow> rows;
  for (const Entry& e : entries) rows.push_back(row_of(e));
  return rows;
}

GemmRow run_plain(const std::string& arch, const cfg::Machine& machine, const gemm::Config& config) {
  GemmRow row;
  row.arch = arch;
  row.clock_mhz = machine.chip.clock_mhz;
  row.config = for_machine(config, machine);
  Diagnostics diags;
  if (const auto kernel = build_gemm(config, machine, diags)) row.estimate = analytic::estimate(describe_gemm(*kernel, machine), machine);
  row.failure = first_error(diags);
  if (!row.failure.empty()) return row;
  row.timing = time_gemm(config, machine, {});
  row.failure = row.timing.failure;
  return row;
}

}  // namespace tcsim::tool
