// What binds a kernel: it is timed as it is, and again with one limit lifted at a time (limits.h). What a run gains is an upper bound for
// lifting that limit alone: a change of the kernel seldom lifts it wholly. One that lifts several at once (another tile) can bring more.
//
//   Study study = run_study(subject, machine, {.jobs = 2}, diags);   // study.rows: what would gain most first
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "isa/diag.h"
#include "sim/config/machine.h"
#include "sim/report/report.h"
#include "tools/explain/limits.h"
#include "tools/launch/kernel_file.h"

namespace tcsim::explain {

/// A kernel with its launch file.
struct Subject {
  launch::KernelFile kernel;
  std::string launch_path, launch_text, entry;
  uint32_t registers = 0;  // --regs; 0: not given
  uint64_t seed = 1;
  bool zero_buffers = false;  // their values cannot change the time
};

/// One launch of a run.
struct LaunchTime {
  double cycles = 0;                                      // sm__cycles_elapsed.max
  double kernel_cycles = 0;                               // without launch and drain
  double dram_cycles = 0, l2_cycles = 0, tma_cycles = 0;  // at least, for the bytes that it moves
  double loaded_bytes = 0;                                // into the SM that loads most
  double exposed_cycles = 0;  // latency that no stages hide: the first load of a CTA that has the SM to itself, the last store

  /// Least cycles for its bytes, launch and drain included, where the roofs that are lifted do not count.
  double roof(const std::vector<Roof>& lifted) const;
};

struct Timing {
  std::vector<LaunchTime> launches;
  sim::CounterBlock counters;        // of all SMs and launches
  std::vector<sim::Report> reports;  // of the ordinary run only
  std::string failure;               // why there is no time

  double cycles() const;
};

/// Latency of a load whose data nobody has touched before.
double cold_load_cycles(const cfg::Machine& machine);

/// How many cycles a run without latencies would have if bandwidths held and the exposed latency stayed, from its launches and those of
/// the ordinary run.
double bounded_cycles(const Timing& lifted, const Timing& base, const std::vector<Roof>& lifted_roofs);

/// Told how many of what are done; one call at a time.
using Progress = std::function<void(uint64_t done, uint64_t total, std::string_view what)>;

/// Runs the subject's launches in timing mode. lifts: nullptr for the ordinary run.
Timing time_subject(const Subject& subject, const cfg::Machine& machine, const Lifts* lifts, uint32_t threads, Diagnostics& diags,
                    const Progress& progress = {});

struct Row {
  const Limit* limit = nullptr;
  double cycles = 0;
  bool run = true;        // false: the limit cannot bind, the time is the ordinary one
  std::string failure{};  // no time
};

/// Two limits lifted together.
struct PairRow {
  const Limit *first = nullptr, *second = nullptr;
  double cycles = 0;
  bool both_needed = false;  // together they save clearly more than each for itself added up
};

struct Study {
  Timing base;
  std::vector<Row> rows;               // ranked
  std::vector<PairRow> pairs;          // most saved first
  double floor_cycles = 0;             // everything lifted but floor_keeps; 0: not known
  const Limit* floor_keeps = nullptr;  // the tensor pipe, or the arithmetic pipes of a kernel without matrix instructions
  bool only_tensor_pipe = false;       // nothing else is worth lifting
  uint64_t ctas = 0;                   // of the longest launch
  uint32_t sms = 0;                    // of the machine

  /// The limits are those of the SMs that work; when most have no CTA, that costs more than any of them.
  bool most_sms_idle() const { return 2 * ctas < sms; }
  double cycles() const { return base.cycles(); }
  /// Launch and drain.
  double outside_cycles() const;
  /// By how much faster a run of so many cycles is: 0.25 is 25 % faster.
  double gain(double other_cycles) const { return other_cycles > 0 ? cycles() / other_cycles - 1 : 0; }
};

/// Gains below this are not worth a remedy.
constexpr double kSmallGain = 0.05;

struct StudyOptions {
  uint32_t jobs = 1;     // runs side by side
  uint32_t threads = 1;  // of each
  Progress progress{};
};

/// Counts runs that end side by side.
class Tally {
 public:
  Tally(const Progress& progress, uint64_t total, std::string_view what) : progress_(progress), total_(total), what_(what) { tell(); }
  void one_more() {
    const std::lock_guard lock(mutex_);
    ++done_;
    tell();
  }

 private:
  void tell() const {
    if (progress_) progress_(done_, total_, what_);
  }
  const Progress& progress_;
  uint64_t done_ = 0, total_;
  std::string_view what_;
  std::mutex mutex_;
};

/// Errors of the ordinary run go to diags; the study is then empty.
Study run_study(const Subject& subject, const cfg::Machine& machine, const StudyOptions& options, Diagnostics& diags);

/// Most saved first; a limit that includes a narrower one comes after it when that one brings more than half of what it brings.
void rank(std::vector<Row>& rows, double base_cycles);

}  // namespace tcsim::explain
