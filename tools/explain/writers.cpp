#include "tools/explain/writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tcsim::explain {
namespace {

std::string number(double cycles) {
  std::string digits = fmt::format("{:.0f}", cycles), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

/// "none" for what rounds to nothing and for runs that are slower: order and contention differ a little in each.
std::string percent(double gain) { return 100 * gain < 0.05 ? "none" : fmt::format("{:.1f} %", 100 * gain); }

/// A run against the kernel as it is.
std::string against_now(double simulated, double now) {
  constexpr double kSame = 0.005;  // what two decimals show
  if (simulated > now * (1 + kSame)) return fmt::format("slower: {:.2f} times the cycles", simulated / now);
  return simulated > now * (1 - kSame) ? "no faster than now" : fmt::format("{:.2f} times as fast as now", now / simulated);
}

std::string title(const Explanation& e) {
  std::string out;
  for (const sim::Report& r : e.study.base.reports)
    out += fmt::format("{} on {}: {} CTAs of {} threads, {} CTA{} an SM (limited by {})\n", r.kernel, e.arch,
                       uint64_t{r.launch.grid[0]} * r.launch.grid[1] * r.launch.grid[2],
                       uint64_t{r.launch.block[0]} * r.launch.block[1] * r.launch.block[2], r.launch.ctas_per_sm,
                       r.launch.ctas_per_sm == 1 ? "" : "s", r.launch.limiter);
  const Study& s = e.study;
  if (s.most_sms_idle())
    out += fmt::format("Too few CTAs: {} for {} SMs, {} of which have nothing to do. The limits below are those of the {} that work{}.\n", s.ctas,
                       s.sms, s.sms - s.ctas, s.ctas, s.ctas == 1 ? "s" : "");
  return out + fmt::format("{} cycles as it is\n", number(s.cycles()));
}

std::string verdict(const Explanation& e) {
  const Study& s = e.study;
  if (s.only_tensor_pipe)
    return fmt::format("Nothing is left but the tensor pipe{}: lifting any other limit gains less than 5 %.\n",
                       s.most_sms_idle() ? fmt::format(" on the {} SM{} that work{}", s.ctas, s.ctas == 1 ? "" : "s", s.ctas == 1 ? "s" : "") : "");
  const Row& first = s.rows.front();
  const double gain = s.gain(first.cycles);
  const double launch_share = s.outside_cycles() / s.cycles();
  constexpr double kNothingElse = 0.9;
  if (launch_share > kNothingElse || (gain < kSmallGain && launch_share > 0.5))
    return fmt::format("Launch and drain are {:.0f} % of the time: the kernel is too short for a limit to matter.\n", 100 * launch_share);
  if (gain < kSmallGain) return "No limit alone is worth lifting: several hold at once (see the pairs).\n";
  return fmt::format("What binds first: {}. Without it the kernel could be {} faster (an upper bound).\n", first.limit->name, percent(gain));
}

/// Why the first row that is out of order stands where it does.
std::string order_note(const Study& s) {
  const auto holds = [](const std::vector<LimitId>& list, LimitId id) { return std::find(list.begin(), list.end(), id) != list.end(); };
  for (auto before = s.rows.begin(); before != s.rows.end(); ++before)
    for (auto after = before + 1; after != s.rows.end(); ++after) {
      if (after->cycles >= before->cycles) continue;
      if (holds(after->limit->includes, before->limit->id))
        return fmt::format(
            "\"{}\" stands before {}, which includes it: the narrower cause comes first when it explains more than half of the gain.\n",
            before->limit->name, after->limit->name);
      if (holds(before->limit->wider_than, after->limit->id))
        return fmt::format(
            "\"{}\" stands before {}, which it lifts as well, all but the first time: the wider cause comes first when it explains more than half of "
            "the gain.\n",
            before->limit->name, after->limit->name);
    }
  return {};
}

std::string table(const Study& s) {
  std::string out = fmt::format("\n{:<26}{:>12}{:>12}   {}\n", "without this limit", "cycles", "faster by", "in that run");
  for (const Row& row : s.rows) {
    const std::string note = !row.failure.empty() ? "not known: " + row.failure : row.run ? std::string(row.limit->meaning) : "(there are none)";
    out += fmt::format("{:<26}{:>12}{:>12}   {}\n", row.limit->name, number(row.cycles), percent(s.gain(row.cycles)), note);
  }
  if (s.floor_cycles > 0)
    out += fmt::format("{:<26}{:>12}{:>12}   what the {} and the launch leave\n", fmt::format("all but {}", s.floor_keeps->name),
                       number(s.floor_cycles), percent(s.gain(s.floor_cycles)), s.floor_keeps->name);
  return out + order_note(s) +
         "Each line is a run of its own, with the same instructions; its gain is an upper bound for lifting that limit alone. A change that lifts\n"
         "several at once (another tile or style) can bring more.\n";
}

std::string pair_lines(const Study& s) {
  if (s.pairs.empty()) return {};
  std::string out = "\nTwo at once\n";
  for (const PairRow& p : s.pairs)
    out += fmt::format("{:<48}{:>12}{:>12}{}\n", fmt::format("{} + {}", p.first->name, p.second->name), number(p.cycles), percent(s.gain(p.cycles)),
                       p.both_needed ? "   both are needed" : "");
  return out;
}

/// Whether the prediction holds is said where it is one; against a bound only the time as it is counts.
std::string remedy_line(const Remedy& r, double now) {
  std::string out = fmt::format("    {}:", r.option);
  if (r.predicted_cycles > 0)
    out += r.whole ? fmt::format(" predicted {} cycles;", number(r.predicted_cycles))
                   : fmt::format(" {} cycles if only this limit fell;", number(r.predicted_cycles));
  if (!r.failure.empty()) return out + fmt::format(" does not run: {}\n", r.failure);
  if (r.simulated_cycles > 0) {
    out += fmt::format(" simulated {}", number(r.simulated_cycles));
    const bool predicted = r.whole && r.predicted_cycles > 0;
    if (predicted) out += fmt::format(" ({:+.1f} %)", 100 * (r.simulated_cycles / r.predicted_cycles - 1));
    if (!predicted || r.simulated_cycles >= now) out += ", " + against_now(r.simulated_cycles, now);
  }
  if (out.back() == ';' || out.back() == ':') out.pop_back();
  return out + '\n';
}

std::string best_line(const Explanation& e) {
  const Remedy* best = best_tried(e.advice);
  if (best == nullptr) return {};
  if (best->simulated_cycles >= e.study.cycles()) return "  None of the options tried is faster than the kernel as it is.\n";
  return fmt::format("  Best tried: {}, {} cycles, {}.\n", best->option, number(best->simulated_cycles),
                     against_now(best->simulated_cycles, e.study.cycles()));
}

std::string advice_lines(const Explanation& e) {
  std::string out;
  if (!e.advice.empty()) out += "\nAdvice\n";
  for (const Advice& a : e.advice) {
    out += fmt::format("  {}: {}\n", a.name, a.text);
    for (const Remedy& r : a.remedies) out += remedy_line(r, e.study.cycles());
  }
  for (const std::string& remark : e.remarks) out += fmt::format("  {}\n", remark);
  return out + best_line(e);
}

}  // namespace

std::string write_text(const Explanation& e) { return title(e) + verdict(e) + table(e.study) + pair_lines(e.study) + advice_lines(e); }

std::string write_json(const Explanation& e) {
  using nlohmann::ordered_json;
  const Study& s = e.study;
  ordered_json out;
  out["tcsim"] = {{"command", e.command}};
  out["arch"] = e.arch;
  out["cycles"] = s.cycles();
  out["kernels"] = ordered_json::array();
  for (const sim::Report& r : s.base.reports)
    out["kernels"].push_back({{"kernel", r.kernel}, {"cycles", r.cycles}, {"ctas_per_sm", r.launch.ctas_per_sm}, {"limiter", r.launch.limiter}});
  out["only_tensor_pipe"] = s.only_tensor_pipe;
  out["gains_are"] = "upper bounds for lifting that limit alone";
  out["ctas"] = s.ctas;
  out["sms"] = s.sms;
  out["limits"] = ordered_json::array();
  for (const Row& row : s.rows) {
    ordered_json limit = {
        {"name", row.limit->name}, {"cycles", row.cycles}, {"gain", s.gain(row.cycles)}, {"meaning", row.limit->meaning}, {"run", row.run}};
    if (!row.failure.empty()) limit["failure"] = row.failure;
    out["limits"].push_back(std::move(limit));
  }
  out["all_but_one"] = {{"kept", s.floor_keeps != nullptr ? s.floor_keeps->name : ""}, {"cycles", s.floor_cycles}};
  out["pairs"] = ordered_json::array();
  for (const PairRow& p : s.pairs)
    out["pairs"].push_back(
        {{"first", p.first->name}, {"second", p.second->name}, {"cycles", p.cycles}, {"gain", s.gain(p.cycles)}, {"both_needed", p.both_needed}});
  out["advice"] = ordered_json::array();
  for (const Advice& a : e.advice) {
    ordered_json advice = {{"limit", a.name}, {"text", a.text}, {"remedies", ordered_json::array()}};
    for (const Remedy& r : a.remedies) {
      ordered_json remedy = {{"option", r.option}, {"lifts_whole_limit", r.whole}};
      if (r.predicted_cycles > 0) remedy["predicted_cycles"] = r.predicted_cycles;
      if (r.simulated_cycles > 0) remedy["simulated_cycles"] = r.simulated_cycles, remedy["times_as_fast"] = s.cycles() / r.simulated_cycles;
      if (!r.failure.empty()) remedy["failure"] = r.failure;
      advice["remedies"].push_back(std::move(remedy));
    }
    out["advice"].push_back(std::move(advice));
  }
  if (const Remedy* best = best_tried(e.advice); best != nullptr && best->simulated_cycles < s.cycles())
    out["best_tried"] = {
        {"option", best->option}, {"simulated_cycles", best->simulated_cycles}, {"times_as_fast", s.cycles() / best->simulated_cycles}};
  out["remarks"] = e.remarks;
  return out.dump(2) + "\n";
}

}  // namespace tcsim::explain
