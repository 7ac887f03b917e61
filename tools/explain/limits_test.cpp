// The table of limits and the ranking, on values worked out by hand.
#include <gtest/gtest.h>

#include <set>

#include "tools/explain/study.h"

namespace tcsim::explain {
namespace {

cfg::Machine h200() {
  Diagnostics diags;
  auto machine = cfg::load_machine("h200", {}, diags);
  EXPECT_TRUE(machine);
  return *machine;
}

// A key that the machine does not have is a bug and throws.
TEST(Limits, EveryLimitChangesTheMachineOrASwitch) {
  const cfg::Machine machine = h200();
  std::set<std::string_view> names;
  for (const Limit& limit : limits()) {
    EXPECT_TRUE(names.insert(limit.name).second) << limit.name;
    EXPECT_NO_THROW(lift(machine, limit.lifts)) << limit.name;
    EXPECT_TRUE(!limit.lifts.overrides.empty() || limit.lifts.switches.bank_conflicts || limit.lifts.switches.issue_slots) << limit.name;
  }
}

TEST(Limits, ValuesBecomeZeroHalfOrInfinite) {
  const cfg::Machine machine = h200();
  EXPECT_EQ(lift(machine, limit_of(LimitId::dram_latency).lifts).dram.extra_cycles, 0u);
  EXPECT_EQ(lift(machine, limit_of(LimitId::dram_latency).lifts).dram.bytes_per_cycle, machine.dram.bytes_per_cycle);
  EXPECT_GT(lift(machine, limit_of(LimitId::dram_bandwidth).lifts).dram.bytes_per_cycle, 1e6 * machine.dram.bytes_per_cycle);
  const cfg::Machine fast = lift(machine, limit_of(LimitId::tensor_pipe).lifts);
  EXPECT_EQ(fast.wgmma.cycles_per_column, machine.wgmma.cycles_per_column / 2);
  for (const auto& [row, timing] : machine.mma) {
    EXPECT_EQ(fast.mma.at(row).interval, (timing.interval + 1) / 2) << row;
    EXPECT_EQ(fast.mma.at(row).latency, timing.latency) << row;
  }
}

Row row_of(LimitId id, double cycles) { return {&limit_of(id), cycles}; }

// Of 1000 cycles: all bandwidth of shared memory saves 500, the conflicts in it 300 of them, more than half: they come first.
TEST(Ranking, NarrowerLimitFirstWhenItExplainsMost) {
  std::vector<Row> rows = {row_of(LimitId::tensor_pipe, 900), row_of(LimitId::shared_bandwidth, 500), row_of(LimitId::bank_conflicts, 700)};
  rank(rows, 1000);
  EXPECT_EQ(rows[0].limit->id, LimitId::bank_conflicts);
  EXPECT_EQ(rows[1].limit->id, LimitId::shared_bandwidth);
  EXPECT_EQ(rows[2].limit->id, LimitId::tensor_pipe);
}

// 200 of 500 are less than half: it is the bandwidth.
TEST(Ranking, WiderLimitFirstOtherwise) {
  std::vector<Row> rows = {row_of(LimitId::bank_conflicts, 800), row_of(LimitId::tensor_pipe, 700), row_of(LimitId::shared_bandwidth, 500)};
  rank(rows, 1000);
  EXPECT_EQ(rows[0].limit->id, LimitId::shared_bandwidth);
  EXPECT_EQ(rows[1].limit->id, LimitId::tensor_pipe);
  EXPECT_EQ(rows[2].limit->id, LimitId::bank_conflicts);
}

// Late data includes the latencies of DRAM and L2, all but their first time: with 220 of 250 cycles it is the reason, with 100 it is not.
TEST(Ranking, LateDataBeforeTheLatenciesThatItConsistsOf) {
  std::vector<Row> rows = {row_of(LimitId::data_in_time, 780), row_of(LimitId::dram_latency, 750), row_of(LimitId::tensor_pipe, 760)};
  rank(rows, 1000);
  EXPECT_EQ(rows[0].limit->id, LimitId::data_in_time);
  EXPECT_EQ(rows[1].limit->id, LimitId::dram_latency);
  EXPECT_EQ(rows[2].limit->id, LimitId::tensor_pipe);
  rows = {row_of(LimitId::data_in_time, 900), row_of(LimitId::dram_latency, 750)};
  rank(rows, 1000);
  EXPECT_EQ(rows[0].limit->id, LimitId::dram_latency);
}

// 1000 cycles, 900 of them in the kernel; its bytes take 600 at the DRAM's rate and 300 at L2's: 100 + 600, without DRAM's roof 100 + 300.
TEST(Roofs, DataInTimeIsBoundByTheBytes) {
  Timing base, lifted;
  base.launches = {{.cycles = 1000, .kernel_cycles = 900, .dram_cycles = 600, .l2_cycles = 300}};
  lifted.launches = {{.cycles = 350}};
  EXPECT_EQ(bounded_cycles(lifted, base, {}), 700);
  EXPECT_EQ(bounded_cycles(lifted, base, {Roof::dram}), 400);
  EXPECT_EQ(bounded_cycles(lifted, base, {Roof::dram, Roof::l2}), 350);
}

// 150 cycles of latency that nothing hides come on top, but the run is never slower than the ordinary one.
TEST(Roofs, TheFirstLoadIsNotHidden) {
  Timing base, lifted;
  base.launches = {{.cycles = 1000, .kernel_cycles = 900, .dram_cycles = 600, .exposed_cycles = 150}};
  lifted.launches = {{.cycles = 350}};
  EXPECT_EQ(bounded_cycles(lifted, base, {}), 850);
  EXPECT_EQ(bounded_cycles(lifted, base, {Roof::dram}), 500);
  lifted.launches = {{.cycles = 950}};
  EXPECT_EQ(bounded_cycles(lifted, base, {}), 1000);
  lifted.launches = {{.cycles = 1020}};
  EXPECT_EQ(bounded_cycles(lifted, base, {}), 1020);
}

}  // namespace
}  // namespace tcsim::explain
