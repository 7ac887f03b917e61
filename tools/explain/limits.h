// The limits that `tcsim explain` lifts, one at a time: each is a list of machine values that become zero or infinite, and what no value
// of the machine says (sim::Lifted). The kernel keeps the instructions and their order of the real machine.
//
//   for (const Limit& limit : limits()) cfg::Machine ideal = lift(machine, limit.lifts);
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/machine.h"
#include "sim/sm/run.h"

namespace tcsim::explain {

/// What becomes of a number: infinite is beyond what any kernel asks for, many is a multiple that no kernel uses up.
enum class To : uint8_t { zero, one, half, many, infinite };

struct Override {
  std::string key;  // of cfg::fields(); "mma.*.FIELD" means that field of every row
  To to;
};

/// Throughputs that hold even when all data is asked for early enough.
enum class Roof : uint8_t { none, dram, l2, tma };

/// What a run lifts.
struct Lifts {
  std::vector<Override> overrides;
  sim::Lifted switches{};
  std::vector<Roof> roofs{};  // no longer hold

  Lifts& operator+=(const Lifts& other);
};

enum class LimitId : uint8_t {
  bank_conflicts,
  shared_bandwidth,
  data_in_time,
  dram_latency,
  l2_latency,
  dram_bandwidth,
  l2_bandwidth,
  l1_throughput,
  issue_slots,
  arithmetic,
  instruction_latency,
  barriers,
  tma_issue,
  registers,
  shared_capacity,
  stores,
  tensor_pipe
};

struct Limit {
  LimitId id;
  std::string_view name;
  std::string_view meaning;  // of the run without it
  Lifts lifts;
  /// The run takes at least the time in which the kernel's bytes pass at the machine's bandwidths: asking earlier does not help there.
  bool keeps_roofs = false;
  /// A narrower limit that this one includes: it comes first in the ranking when it brings more than half of the gain.
  std::vector<LimitId> includes{};
  /// Limits that it lifts as well, all but the first time: it comes before them when it brings more than half of what they bring.
  std::vector<LimitId> wider_than{};
  /// Counters of the ordinary run: when all are zero the limit cannot bind and is not run. Empty: always run.
  std::vector<sim::Counter> needs{};
};

const std::vector<Limit>& limits();
const Limit& limit_of(LimitId id);

/// A copy of the machine with those values.
cfg::Machine lift(const cfg::Machine& machine, const Lifts& lifts);

}  // namespace tcsim::explain
