#include "sim/mem/memory_system.h"

#include <gtest/gtest.h>

namespace tcsim::sim {
namespace {

/// Small round numbers, so that every expectation below is hand arithmetic.
cfg::Machine machine() {
  cfg::Machine m;
  m.chip.sms = 4;
  m.chip.partitions = 1;
  m.l1.fill_bytes_per_cycle = 64;
  m.l1.store_bytes_per_cycle = 32;
  m.l2 = {.bytes = 1 << 20,
          .slices = 1,
          .ways = 16,
          .line_bytes = 128,
          .sector_bytes = 32,
          .near_cycles = 200,
          .far_cycles = 300,
          .slice_bytes_per_cycle = 64,
          .partition_bytes_per_cycle = 1e9,
          .write_cycles_per_sector = 0.5,
          .atomic_cycles = 2};
  m.dram = {.channels = 1, .bytes_per_cycle = 32, .extra_cycles = 300, .access_bytes = 32, .tlb_miss_cycles = 0, .tlb_page_bytes = 0};
  return m;
}

MemRequest read(Cycle cycle, uint64_t line, uint8_t sectors = 0xf, uint16_t sm = 0) { return {cycle, line, 0, sm, MemRequest::Kind::read, sectors}; }

TEST(MemorySystem, MissThenHit) {
  const auto m = machine();
  MemorySystem memory(m);
  // Miss: 4 sectors of DRAM at 32 B/cycle = 4 cycles, + 300 + 200.
  EXPECT_EQ(memory.serve(read(1000, 7)), 1000u + 4 + 300 + 200);
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], 128u);
  // Hit: unloaded near latency.
  EXPECT_EQ(memory.serve(read(5000, 7)), 5200u);
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_hit], 4u);
  EXPECT_EQ(memory.counters()[Counter::l2_sectors], 8u);
}

// 1 MiB as 4 slices of 128 sets: three quarters of the capacity stay in it, lines side by side or 16 lines apart. (A power-of-two
// number of sets must not be indexed by bits that the slice's choice has used.)
TEST(MemorySystem, TheCapacityIsThereForPowersOfTwo) {
  auto m = machine();
  m.l2.slices = 4;
  for (const uint64_t stride : {1, 16}) {
    MemorySystem memory(m);
    constexpr uint64_t kLines = (1 << 20) / 128 * 3 / 4;
    for (int pass = 0; pass < 2; ++pass)
      for (uint64_t line = 0; line < kLines; ++line) memory.serve(read(1000, line * stride));
    EXPECT_GE(memory.counters()[Counter::l2_sectors_hit], 4 * kLines * 95 / 100) << stride;
  }
}

TEST(MemorySystem, OnlyMissingSectorsAreFetched) {
  const auto m = machine();
  MemorySystem memory(m);
  memory.serve(read(0, 7, 0x1));
  memory.serve(read(4000, 7, 0x3));
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], 64u);
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_hit], 1u);
}

TEST(MemorySystem, HitUnderMissWaitsForTheFill) {
  const auto m = machine();
  MemorySystem memory(m);
  const Cycle first = memory.serve(read(1000, 7, 0xf, 0));
  const Cycle second = memory.serve(read(1010, 7, 0xf, 1));
  EXPECT_EQ(first, 1504u);
  EXPECT_EQ(second, 1504u);  // the other SM's port is free: the data arrive at L2 at 1304, + 200
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], 128u);
}

TEST(MemorySystem, BandwidthOfSlicePortAndChannel) {
  const auto m = machine();
  MemorySystem memory(m);
  for (uint64_t line = 0; line < 64; ++line) memory.serve(read(0, line));
  // DRAM: 64 lines of 128 B at 32 B/cycle: the last is served at 256, + 300 + 200.
  EXPECT_EQ(memory.serve(read(0, 64)), 65u * 4 + 300 + 200);
  // L2 hits from one SM: the slice and the port both move 128 B in 2 cycles; the 64th ends 63 * 2 cycles later.
  MemorySystem warm(m);
  for (uint64_t line = 0; line < 64; ++line) warm.serve(read(0, line));
  Cycle last = 0;
  for (uint64_t line = 0; line < 64; ++line) last = warm.serve(read(10000, line));
  EXPECT_EQ(last, 10000u + 200 + 63 * 2);
}

TEST(MemorySystem, WritesMakeDirtySectorsAndAreAcknowledged) {
  const auto m = machine();
  MemorySystem memory(m);
  // 4 sectors through the store port at 32 B/cycle; the first starts at once.
  EXPECT_EQ(memory.serve({100, 9, 0, 0, MemRequest::Kind::write, 0xf}), 300u);
  EXPECT_EQ(memory.serve({100, 10, 0, 0, MemRequest::Kind::write, 0xf}), 304u);
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_write], 8u);
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], 0u);  // whole sectors: nothing to fetch
}

TEST(MemorySystem, NeighboursShareAReadInFlight) {
  auto m = machine();
  m.l2.coalescing_sms = 2;
  MemorySystem memory(m);
  for (uint64_t line = 0; line < 64; ++line) memory.serve(read(0, line));
  const uint64_t before = memory.counters()[Counter::l2_sectors_read];
  // SM 0 and its neighbour SM 1 read the same 32 lines: L2 serves 32, not 64; SM 2 is not a neighbour.
  for (uint64_t line = 0; line < 32; ++line) {
    memory.serve(read(10000, line, 0xf, 0));
    memory.serve(read(10000, line, 0xf, 1));
  }
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_read] - before, 32u * 4);
  for (uint64_t line = 0; line < 32; ++line) memory.serve(read(10001, line, 0xf, 2));
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_read] - before, 64u * 4);
  // When the response is back (20200), a new read is a new request.
  memory.serve(read(20000, 40, 0xf, 0));
  memory.serve(read(20400, 40, 0xf, 1));
  EXPECT_EQ(memory.counters()[Counter::l2_sectors_read] - before, 66u * 4);
}

TEST(MemorySystem, FarPartitionIsFarther) {
  auto m = machine();
  m.chip.partitions = 2;
  m.l2.slices = 2;
  MemorySystem memory(m);
  // SMs 0-1 and 2-3 are in different partitions: of two SMs one is near and one is far, whatever slice the line is in.
  memory.serve(read(0, 7, 0xf, 0));
  const Cycle a = memory.serve(read(10000, 7, 0xf, 0)) - 10000, b = memory.serve(read(20000, 7, 0xf, 3)) - 20000;
  EXPECT_EQ(std::min(a, b), 200u);
  EXPECT_EQ(std::max(a, b), 300u);
}

TEST(MemorySystem, CapacityEvictsTheLeastRecentlyUsed) {
  auto m = machine();
  m.l2.bytes = 16 * 128;  // one set of 16 ways
  MemorySystem memory(m);
  for (uint64_t line = 0; line < 17; ++line) memory.serve(read(line * 1000, line));
  const uint64_t before = memory.counters()[Counter::dram_bytes_read];
  memory.serve(read(50000, 16));
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], before);
  memory.serve(read(60000, 0));
  EXPECT_EQ(memory.counters()[Counter::dram_bytes_read], before + 128);
}

// Two partitions of one slice and two SMs each. A line of the other partition's memory crosses once; a write ends the copy.
TEST(MemorySystem, TheOtherPartitionsMemoryIsCopiedAtItsFirstRead) {
  auto m = machine();
  m.chip.partitions = 2;
  m.l2.slices = 2;
  m.l2.cross_cycles = 150;
  MemorySystem memory(m);
  const Cycle first = memory.serve(read(1000, 7, 0xf, 0));      // brings the line from DRAM
  const bool own = first == 1000 + 4 + 300 + 200;               // is its memory that of SMs 0 and 1?
  EXPECT_EQ(first, own ? 1504u : 1000u + 4 + 300 + 150 + 300);  // else it has crossed already, and SM 0 is far from it
  const uint16_t near = own ? 0 : 3, far = own ? 3 : 0;
  EXPECT_EQ(memory.serve(read(5000, 7, 0xf, near)), 5000u + 200);
  EXPECT_EQ(memory.serve(read(6000, 7, 0xf, far)), 6000u + (own ? 150 : 0) + 300);
  EXPECT_EQ(memory.serve(read(7000, 7, 0xf, far)), 7000u + 300);
  memory.serve({8000, 7, 0, near, MemRequest::Kind::write, 0x1});
  EXPECT_EQ(memory.serve(read(9000, 7, 0x1, far)), 9000u + 150 + 300);
  EXPECT_EQ(memory.serve(read(9500, 7, 0xe, far)), 9500u + 300);
}

// A bank is refreshed for 100 of 1000 cycles: of loads that come at every tenth cycle of a period, one in ten waits, up to 100 cycles.
TEST(MemorySystem, ARefreshDelaysTheBanksLoads) {
  auto m = machine();
  m.dram.refresh_interval_cycles = 1000, m.dram.refresh_cycles = 100, m.dram.refresh_bytes = 1 << 21;
  MemorySystem memory(m);
  uint32_t waits = 0, cycles = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const Cycle at = 100000 + 1010 * i;                                                   // the next tenth of the next period
    const auto extra = static_cast<uint32_t>(memory.serve(read(at, i, 0x1)) - at - 500);  // 1 cycle to transfer when nothing holds it back
    if (extra == 1) continue;
    ++waits;
    cycles += extra;
  }
  // 10 + 20 + .. + 100, less at most 9 each for where the tenths lie; a wait of one cycle is not seen.
  EXPECT_GE(waits, 9u);
  EXPECT_LE(waits, 10u);
  EXPECT_GE(cycles, 550u - 90 - 1);
  EXPECT_LE(cycles, 550u);
}

}  // namespace
}  // namespace tcsim::sim
