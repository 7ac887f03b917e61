#include "validation/published/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

std::string first_error(const Diagnostics& diags) {
  for (const Diagnostic& d : diags.all())
    if (d.severity == Severity::error) return d.str();
  return "no value";
}

Compared compare_one(const Reading& reading) {
  Compared out{reading, false, 0, {}};
  Diagnostics diags;
  const auto machine = cfg::load_machine(reading.machine, {}, diags);
  if (!machine) return out.note = first_error(diags), out;
  const auto probe = make_probe(reading, *machine);
  if (!probe) return out.note = "no micro-kernel", out;
  const double value = run_probe(*probe, *machine, diags);
  if (std::isnan(value)) return out.note = first_error(diags), out;
  out.value = value;
  out.simulated = true;
  return out;
}

struct Group {
  size_t rows = 0, within_5 = 0, within_10 = 0, not_simulated = 0;
  double sum = 0;
  const Compared* worst = nullptr;
};

std::string key_of(const Reading& r) { return fmt::format("{:<24} {:<8} {}", r.table, r.machine, r.quantity); }

std::string summary_of(std::span<const Compared> rows) {
  std::map<std::string, Group> groups;
  for (const Compared& row : rows) {
    Group& g = groups[key_of(row.reading)];
    if (!row.simulated) {
      ++g.not_simulated;
      continue;
    }
    const double e = std::abs(row.error());
    ++g.rows;
    g.sum += e;
    g.within_5 += e <= 0.05;
    g.within_10 += e <= 0.10;
    if (!g.worst || e > std::abs(g.worst->error())) g.worst = &row;
  }
  std::string out = fmt::format("{:<58} {:>5} {:>9} {:>6} {:>6}  {}\n", "published", "rows", "mean |e|", "<5%", "<10%", "farthest");
  for (const auto& [key, g] : groups) {
    if (g.rows == 0) out += fmt::format("{:<58} {:>5}  {} not simulated\n", key, 0, g.not_simulated);
    else
      out += fmt::format("{:<58} {:>5} {:>8.1f}% {:>6} {:>6}  {:+.1f}% {}{}\n", key, g.rows, 100 * g.sum / static_cast<double>(g.rows), g.within_5,
                         g.within_10, 100 * g.worst->error(), g.worst->reading.what,
                         g.not_simulated ? fmt::format(" ({} not simulated)", g.not_simulated) : "");
  }
  return out;
}

}  // namespace

std::vector<Compared> compare_readings(std::span<const Reading> readings, uint32_t jobs, const std::function<void(size_t, size_t)>& progress) {
  std::vector<Compared> out(readings.size());
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto take = [&] {
    for (size_t i; (i = next.fetch_add(1)) < readings.size();) try {
        out[i] = compare_one(readings[i]);
        const std::lock_guard lock(mutex);
        if (progress) progress(++done, readings.size());
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < jobs; ++i) threads.emplace_back(take);
  take();
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
  return out;
}

std::string write_readings(std::span<const Compared> rows, bool summary) {
  std::string out;
  if (!summary) {
    out += fmt::format("{:<8} {:<24} {:<44} {:>10} {:>10} {:>8}  {:<16} {}\n", "machine", "quantity", "of", "published", "simulated", "error", "unit",
                       "mark");
    for (const Compared& row : rows) {
      const Reading& r = row.reading;
      const std::string result =
          row.simulated ? fmt::format("{:>10.4g} {:>+7.1f}%", row.value, 100 * row.error()) : fmt::format("{:>10} {:>8}", "-", "-");
      out += fmt::format("{:<8} {:<24} {:<44} {:>10.4g} {}  {:<16} {}{}\n", r.machine, r.quantity, r.what, r.value, result, r.unit, r.mark,
                         row.simulated ? "" : "  " + row.note);
    }
    out += "\n";
  }
  return out + summary_of(rows);
}

std::string readings_json(std::span<const Compared> rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Compared& row : rows) {
    const Reading& r = row.reading;
    nlohmann::ordered_json j = {{"table", r.table},     {"machine", r.machine}, {"quantity", r.quantity}, {"case", r.what},
                                {"published", r.value}, {"unit", r.unit},       {"mark", r.mark},         {"source", r.source}};
    if (row.simulated) j["simulated"] = row.value, j["error"] = row.error();
    else j["note"] = row.note;
    list.push_back(std::move(j));
  }
  return nlohmann::ordered_json{{"readings", std::move(list)}}.dump(1) + "\n";
}

}  // namespace tcsim::published
