// Why a warp did not issue in a cycle. Names are Nsight Compute's (smsp__average_warps_issue_stalled_<name>_per_issue_active),
// in its order. Every active warp-cycle has exactly one reason; a stall is charged to the waiting instruction.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tcsim::sim {

enum class StallReason : uint8_t {
  barrier,
  branch_resolving,
  dispatch_stall,
  drain,
  gmma,
  imc_miss,
  lg_throttle,
  long_scoreboard,
  math_pipe_throttle,
  membar,
  mio_throttle,
  misc,
  no_instruction,
  not_selected,
  selected,
  short_scoreboard,
  sleeping,
  tex_throttle,
  wait,
  count
};
constexpr size_t kStallReasons = static_cast<size_t>(StallReason::count);

struct StallInfo {
  StallReason reason;
  std::string_view name;
  std::string_view meaning;  // one line for people
};

constexpr std::array<StallInfo, kStallReasons> kStallTable = {{
    {StallReason::barrier, "barrier", "waits for the other warps at a CTA barrier"},
    {StallReason::branch_resolving, "branch_resolving", "waits for a branch target"},
    {StallReason::dispatch_stall, "dispatch_stall", "the dispatcher holds the instruction back"},
    {StallReason::drain, "drain", "ends, and waits for its stores to leave"},
    {StallReason::gmma, "gmma", "waits for warpgroup matrix operations"},
    {StallReason::imc_miss, "imc_miss", "waits for the constant cache"},
    {StallReason::lg_throttle, "lg_throttle", "the queue of global and local memory instructions is full"},
    {StallReason::long_scoreboard, "long_scoreboard", "waits for data from global memory, L1 or L2"},
    {StallReason::math_pipe_throttle, "math_pipe_throttle", "the arithmetic or tensor pipe is taken"},
    {StallReason::membar, "membar", "waits for a memory fence"},
    {StallReason::mio_throttle, "mio_throttle", "the queue of shared memory instructions is full"},
    {StallReason::misc, "misc", "other"},
    {StallReason::no_instruction, "no_instruction", "waits for instruction fetch"},
    {StallReason::not_selected, "not_selected", "ready, but another warp issued"},
    {StallReason::selected, "selected", "issued"},
    {StallReason::short_scoreboard, "short_scoreboard", "waits for data from shared memory, MUFU or shuffle"},
    {StallReason::sleeping, "sleeping", "nanosleep"},
    {StallReason::tex_throttle, "tex_throttle", "the texture queue is full"},
    {StallReason::wait, "wait", "waits for a result of fixed latency"},
}};

constexpr std::string_view name(StallReason reason) { return kStallTable[static_cast<size_t>(reason)].name; }
constexpr std::string_view meaning(StallReason reason) { return kStallTable[static_cast<size_t>(reason)].meaning; }

/// Warp-cycles by reason.
using StallCycles = std::array<uint64_t, kStallReasons>;

}  // namespace tcsim::sim
