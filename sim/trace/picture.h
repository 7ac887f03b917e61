// What the parts of a picture share: the launch with its writer of trace events, and the view of one CTA. Internal to sim/trace.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "isa/ptx/module.h"
#include "sim/lower/lower.h"
#include "sim/trace/cta_trace.h"

namespace tcsim::sim {

/// Thread ids of the tracks; warps are 1, 2, ... (0 means the idle process to Perfetto).
constexpr uint32_t kTma = 1000, kTensor = 2000, kCommits = 2100, kColumns = 2500, kAccesses = 2501, kBarriers = 3000;
constexpr uint32_t kQuarters = 4;  // of Tensor Memory: a warp reaches that of its number modulo 4 (PTX ISA, "tcgen05.ld")

using Copies = std::map<std::pair<uint64_t, uint32_t>, Cycle>;  // (CTA, copy) -> last landing
/// Copies overlap and slices of a track must not: each copy goes to the first track that is free at its issue. Commits likewise.
using Lanes = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;  // (CTA, copy or tcgen05 operation) -> track

/// "tcgen05.ld.sync.aligned.32x32b.x32.b32 {...}, [...]" -> "tcgen05.ld.32x32b.x32.b32"
std::string short_name(const isa::Inst& inst);

/// What all CTAs of a launch share.
struct TracedLaunch {
  using Json = nlohmann::ordered_json;
  const isa::Module& module;
  const LoweredProgram& program;
  const Trace& trace;
  const Copies& landed;
  const Lanes& lanes;  // of copies
  const Lanes& commits;
  Cycle offset;
  uint32_t number;  // of the launch, from 0
  uint64_t& flows;
  std::string& out;

  const isa::Kernel& kernel() const { return *program.kernel; }
  uint64_t pid(uint64_t cta) const { return uint64_t{number} * 1'000'000 + cta + 1; }
  double time(Cycle cycle) const { return static_cast<double>(offset + cycle) / 1000.0; }
  std::string place(uint32_t shared) const;
  std::string source(const isa::Inst& inst) const;
  /// The last cycle of a commit's slice.
  Cycle end_of_commit(uint64_t cta, uint32_t index) const { return trace.of(cta)->tensor_ops()[index].done - 1; }

  void put(const Json& event) const;
  void slice(uint64_t cta, uint32_t tid, const std::string& name, std::string_view category, Cycle from, Cycle to, Json args) const;
  /// An arrow between the slices that enclose the two points.
  void flow(std::string_view name, uint64_t from_cta, uint32_t from_tid, Cycle from, uint64_t to_cta, uint32_t to_tid, Cycle to) const;
};

/// One CTA of it.
class CtaView {
 public:
  using Json = TracedLaunch::Json;
  CtaView(const TracedLaunch& launch, const CtaTrace& cta);

 protected:
  static uint32_t warp_tid(uint32_t warp) { return warp + 1; }
  const isa::Inst& inst(uint32_t index) const { return l_.kernel().insts[index]; }
  void name_track(uint32_t tid, const std::string& name) const;

  const TracedLaunch& l_;
  const CtaTrace& t_;
  uint64_t id_;
  Cycle end_ = 0;  // of what is known of the CTA
};

/// Its tcgen05 operations on the tensor core, commits, and Tensor Memory.
void draw_tcgen05(const CtaView& cta);

}  // namespace tcsim::sim
