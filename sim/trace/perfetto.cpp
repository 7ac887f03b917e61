#include "sim/trace/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>
#include <nlohmann/json.hpp>

#include "isa/exec/report.h"
#include "isa/exec/tensor_memory.h"
#include "isa/insn/tcgen05.h"
#include "isa/layout/tensor_map.h"
#include "sim/trace/shared_names.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;
using Copies = std::map<std::pair<uint64_t, uint32_t>, Cycle>;  // (CTA, copy) -> last landing
using Kind = isa::BulkCopy::Kind;

constexpr uint32_t kWarpsOfGroup = 4;
/// Thread ids of the tracks; warps are 1, 2, ... (0 means the idle process to Perfetto).
constexpr uint32_t kTma = 1000, kTensor = 2000, kCommits = 2100, kColumns = 2500, kAccesses = 2501, kBarriers = 3000;
constexpr uint32_t kQuarters = 4;  // of Tensor Memory: a warp reaches that of its number modulo 4 (PTX ISA, "tcgen05.ld")

/// "tcgen05.ld.sync.aligned.32x32b.x32.b32 {...}, [...]" -> "tcgen05.ld.32x32b.x32.b32"
std::string short_name(const isa::Inst& inst) {
  std::string name(inst.text.substr(0, inst.text.find(' ')));
  for (const std::string_view part : {".sync", ".aligned"})
    if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, part.size());
  return name;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::load: return "load";
    case Kind::store: return "store";
    case Kind::reduce: return "reduce";
    case Kind::shared_to_cluster: return "copy to CTA";
    case Kind::prefetch: return "prefetch";
  }
  return "";
}

/// Copies overlap and slices of a track must not: each copy goes to the first track that is free at its issue. Commits likewise.
using Lanes = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;  // (CTA, copy or tcgen05 operation) -> track

/// What all CTAs of a launch share.
struct Launch {
  const isa::Module& module;
  const LoweredProgram& program;
  const Trace& trace;
  const Copies& landed;
  const Lanes& lanes;
  const Lanes& commits;
  Cycle offset;
  uint32_t number;     // of the launch, from 0
  uint64_t& flows;
  std::string& out;

  const isa::Kernel& kernel() const { return *program.kernel; }
  uint64_t pid(uint64_t cta) const { return uint64_t{number} * 1'000'000 + cta + 1; }
  double time(Cycle cycle) const { return static_cast<double>(offset + cycle) / 1000.0; }
  std::string place(uint32_t shared) const { return shared_place(module, kernel(), shared).str(); }
  std::string source(const isa::Inst& inst) const { return inst.loc.file != 0 ? module.source_of(inst) : isa::place_of(module, inst).str(); }

  void put(const Json& event) const {
    if (!out.empty()) out += ",\n";
    out += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  void slice(uint64_t cta, uint32_t tid, const std::string& name, std::string_view category, Cycle from, Cycle to, Json args) const {
    put({{"ph", "X"}, {"pid", pid(cta)}, {"tid", tid}, {"ts", time(from)}, {"dur", static_cast<double>(to - from) / 1000.0}, {"name", name}, {"cat", category}, {"args", std::move(args)}});
  }
  /// An arrow between the slices that enclose the two points.
  void flow(std::string_view name, uint64_t from_cta, uint32_t from_tid, Cycle from, uint64_t to_cta, uint32_t to_tid, Cycle to) const {
    const uint64_t id = ++flows;
    put({{"ph", "s"}, {"pid", pid(from_cta)}, {"tid", from_tid}, {"ts", time(from)}, {"id", id}, {"name", name}, {"cat", "flow"}});
    put({{"ph", "f"}, {"bp", "e"}, {"pid", pid(to_cta)}, {"tid", to_tid}, {"ts", time(to)}, {"id", id}, {"name", name}, {"cat", "flow"}});
  }
};

class CtaPicture {
 public:
  CtaPicture(const Launch& launch, const CtaTrace& cta) : l_(launch), t_(cta), id_(cta.linear()) {}

  void draw() {
    name_process();
    draw_warps();
    draw_copies();
    draw_wgmma();
    draw_tensor_ops();
    draw_commits();
    draw_columns();
    draw_accesses();
    draw_barriers();
    draw_arrivals();
  }

 private:
  static uint32_t warp_tid(uint32_t warp) { return warp + 1; }
  const isa::Inst& inst(uint32_t index) const { return l_.kernel().insts[index]; }
  const isa::Inst& inst_of(uint32_t op) const { return inst(l_.program.ops[op].inst); }

  void name_process() const {
    const isa::Dim3 at = t_.id();
    const std::string launch = l_.number == 0 ? "" : fmt::format("launch {}, ", l_.number + 1);
    l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"name", "process_name"}, {"args", {{"name", fmt::format("{}CTA {} ({},{},{}) on SM {}", launch, id_, at.x, at.y, at.z, t_.sm())}}}});
    l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"name", "process_sort_index"}, {"args", {{"sort_index", l_.pid(id_)}}}});
  }
  void name_track(uint32_t tid, const std::string& name) const {
    l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}});
    l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"tid", tid}, {"name", "thread_sort_index"}, {"args", {{"sort_index", tid}}}});
  }

  /// producer: asks for bulk loads; mma: issues tcgen05.mma; consumer: runs wgmma; epilogue: reads Tensor Memory, or only stores.
  std::string role(uint32_t warp) const {
    bool loads = false, stores = false, multiplies = false;
    for (const CtaTrace::Copy& c : t_.copies())
      if (c.warp == warp) (c.copy.kind == Kind::load || c.copy.kind == Kind::shared_to_cluster ? loads : stores) = true;
    for (const CtaTrace::Wgmma& g : t_.wgmmas()) multiplies |= g.group == warp / kWarpsOfGroup;
    bool issues = false, reads = false;
    for (const CtaTrace::TensorOp& op : t_.tensor_ops()) issues |= op.warp == warp && op.op.kind == isa::Tcgen05Op::Kind::mma;
    for (const CtaTrace::TensorAccess& a : t_.tensor_accesses()) reads |= a.warp == warp && inst(a.inst).op == isa::Op::tcgen05_ld;
    std::string out;
    if (loads) out += " producer";
    if (issues) out += " mma";
    if (multiplies) out += " consumer";
    if (reads || (stores && out.empty())) out += " epilogue";
    return fmt::format("warp {}{}", warp, out);
  }

  // ---- warps ----

  void draw_warps() const {
    for (uint32_t warp = 0; warp < t_.warps().size(); ++warp) {
      name_track(warp_tid(warp), role(warp));
      for (const CtaTrace::Slice& s : t_.warps()[warp]) {
        if (s.reason == Stall::selected) {
          l_.slice(id_, warp_tid(warp), "issue", "issue", s.from, s.to, {{"instructions", s.to - s.from}, {"first", inst_of(s.op).text}, {"source", l_.source(inst_of(s.op))}});
        } else {
          draw_wait(warp, s);
        }
      }
    }
  }

  void draw_wait(uint32_t warp, const CtaTrace::Slice& s) const {
    Json args = {{"reason", name(s.reason)}, {"next", inst_of(s.op).text}, {"source", l_.source(inst_of(s.op))}};
    if (s.wait == CtaTrace::kNone) return l_.slice(id_, warp_tid(warp), std::string(name(s.reason)), "wait", s.from, s.to, std::move(args));
    const CtaTrace::Wait& w = t_.waits()[s.wait];
    args["waits_in"] = inst(w.inst).text;
    args["waits_at"] = l_.source(inst(w.inst));
    const std::string title = describe(w, args);
    l_.slice(id_, warp_tid(warp), title, "wait", s.from, s.to, std::move(args));
    draw_cause(warp, s, w);
  }

  std::string describe(const CtaTrace::Wait& w, Json& args) const {
    if (w.timed_out) args["ended_by"] = "time limit";
    using By = CtaTrace::Cause::By;
    switch (w.cause.by) {
      case By::copy: args["ended_by"] = "bulk copy"; break;
      case By::wgmma: args["ended_by"] = "wgmma"; break;
      case By::tensor: args["ended_by"] = w.cause.cta == id_ ? std::string("tcgen05.commit") : fmt::format("tcgen05.commit of CTA {}", w.cause.cta); break;
      case By::warp: args["ended_by"] = fmt::format("warp {}", w.cause.index); break;
      case By::remote_warp: args["ended_by"] = fmt::format("warp {} of the CTA of rank {}", w.cause.index, w.cause.cta); break;
      case By::none: break;
    }
    switch (w.on) {
      case Blocked::mbarrier:
        args["mbarrier"] = l_.place(static_cast<uint32_t>(w.id));
        args["offset"] = w.id;
        args["phase"] = w.phase;
        return fmt::format("{} phase {}", l_.place(static_cast<uint32_t>(w.id)), w.phase);
      case Blocked::wgmma: args["groups_left"] = w.id; return "wgmma results";
      case Blocked::bulk_group: args["groups_left"] = w.id; return "bulk group";
      case Blocked::async_group: args["groups_left"] = w.id; return "cp.async group";
      case Blocked::barrier: return fmt::format("barrier {}", w.id);
      case Blocked::cluster: return "cluster barrier";
      case Blocked::registers: return fmt::format("setmaxnreg {}", w.id);
      case Blocked::sleep: return "sleep";
      case Blocked::tensor_alloc: return "Tensor Memory allocation";
      case Blocked::no: return short_name(inst(w.inst));  // tcgen05.wait
      default: return "wait";
    }
  }

  void draw_cause(uint32_t warp, const CtaTrace::Slice& s, const CtaTrace::Wait& w) const {
    const Cycle at = std::min(w.resumed, s.to - 1);
    using By = CtaTrace::Cause::By;
    if (w.cause.by == By::copy) {
      const auto lane = l_.lanes.find({w.cause.cta, w.cause.index});
      if (lane != l_.lanes.end()) l_.flow("landed", w.cause.cta, lane->second, w.cause.at - 1, id_, warp_tid(warp), at);
    } else if (w.cause.by == By::wgmma) {
      const CtaTrace::Wgmma& g = t_.wgmmas()[w.cause.index];
      if (g.to != kNever) l_.flow("completed", id_, kTensor, g.to - 1, id_, warp_tid(warp), at);
    } else if (w.cause.by == By::tensor) {
      l_.flow("committed", w.cause.cta, l_.commits.at({w.cause.cta, w.cause.index}), std::min(end_of_commit(w.cause.cta, w.cause.index), at), id_, warp_tid(warp), at);
    } else if (w.on == Blocked::no) {
      if (const CtaTrace::TensorAccess* a = last_access(warp, w)) l_.flow("accessed", id_, kAccesses + warp % kQuarters, a->to - 1, id_, warp_tid(warp), std::max(a->to - 1, at));
    } else if (w.cause.by == By::warp) {
      l_.flow("released", id_, warp_tid(w.cause.index), w.cause.at, id_, warp_tid(warp), at);
    }
  }

  // ---- engines ----

  void draw_copies() const {
    uint32_t tracks = 0;
    for (uint32_t i = 0; i < t_.copies().size(); ++i) {
      const CtaTrace::Copy& c = t_.copies()[i];
      const uint32_t tid = l_.lanes.at({id_, i});
      for (; tracks <= tid - kTma; ++tracks) name_track(kTma + tracks, fmt::format("TMA {}", tracks));
      const auto landed = l_.landed.find({id_, i});
      const bool complete = landed != l_.landed.end();
      l_.slice(id_, tid, std::string(kind_name(c.copy.kind)), "tma", c.issued, complete ? landed->second : c.issued + 1, copy_args(c, complete ? landed->second - c.issued : 0, complete));
      l_.flow("issued", id_, warp_tid(c.warp), c.issued, id_, tid, c.issued);
    }
  }

  Json copy_args(const CtaTrace::Copy& c, Cycle cycles, bool complete) const {
    const isa::BulkCopy& copy = c.copy;
    Json args = {{"bytes", copy.bytes}};
    if (copy.map) args["coordinates"] = std::vector<int32_t>(copy.coordinate.begin(), copy.coordinate.begin() + copy.map->rank);
    else if (copy.kind != Kind::shared_to_cluster) args["global"] = fmt::format("0x{:x}", copy.global);
    if (copy.kind != Kind::prefetch) {
      const uint32_t offset = copy.kind == Kind::shared_to_cluster ? copy.target.offset : copy.shared.offset;
      args["shared"] = l_.place(offset);
      args["offset"] = offset;
    }
    if (copy.has_mbarrier) args["mbarrier"] = l_.place(copy.mbarrier.offset);
    if (copy.multicast) args["cta_mask"] = fmt::format("0x{:x}", copy.cta_mask);
    if (complete) args["cycles"] = cycles;
    args["landed"] = complete;
    args["source"] = l_.source(inst(copy.inst));
    return args;
  }

  void draw_wgmma() const {
    Cycle free = 0;
    if (!t_.wgmmas().empty()) name_track(kTensor, "tensor cores");
    std::vector<const CtaTrace::Wgmma*> order;
    for (const CtaTrace::Wgmma& g : t_.wgmmas())
      if (g.to != kNever) order.push_back(&g);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return std::pair{a->to, a->group} < std::pair{b->to, b->group}; });
    for (const CtaTrace::Wgmma* g : order) {
      const Cycle from = std::max(g->from, free);  // intervals are no whole cycles: the next may begin in the last one's end
      free = g->to;
      Json args = {{"warpgroup", g->group}, {"queued_cycles", g->from - std::min(g->from, g->issued)}};
      if (g->done != kNever) args["results_after_cycles"] = g->done - g->issued;
      args["instruction"] = inst(g->inst).text.substr(0, inst(g->inst).text.find(' '));
      args["source"] = l_.source(inst(g->inst));
      l_.slice(id_, kTensor, std::string("wgmma ") + inst(g->inst).timing_key, "tensor", from, g->to, std::move(args));
      l_.flow("issued", id_, warp_tid(g->group * kWarpsOfGroup), g->issued, id_, kTensor, from);
    }
  }

  // ---- tcgen05 ----

  /// Also those of the pair's other CTA: both SMs' tensor cores work on them.
  void draw_tensor_ops() const {
    struct Drawn { const CtaTrace::TensorOp* op; uint64_t cta; };
    std::vector<Drawn> order;
    const auto gather = [&](const CtaTrace* cta, bool peer) {
      if (cta == nullptr) return;
      for (const CtaTrace::TensorOp& op : cta->tensor_ops())
        if (op.op.kind != isa::Tcgen05Op::Kind::commit && (!peer || op.op.cta_group == 2)) order.push_back({&op, cta->linear()});
    };
    gather(&t_, false);
    gather(l_.trace.of(id_ ^ 1), true);
    if (order.empty()) return;
    name_track(kTensor, "tensor core");
    std::stable_sort(order.begin(), order.end(), [](const Drawn& a, const Drawn& b) { return a.op->from < b.op->from; });
    Cycle free = 0;
    for (const auto& [op, cta] : order) {
      const Cycle from = std::max(op->from, free), to = std::max(op->to, from + 1);
      free = to;
      l_.slice(id_, kTensor, tensor_name(op->op), "tensor", from, to, tensor_args(*op, cta));
      if (cta == id_) l_.flow("issued", id_, warp_tid(op->warp), op->issued, id_, kTensor, from);
    }
  }

  static std::string tensor_name(const isa::Tcgen05Op& op) {
    const isa::Tcgen05Work work = isa::Tcgen05Ops::of(op).work(op);
    if (op.kind == isa::Tcgen05Op::Kind::mma) return fmt::format("tcgen05.mma m{}n{}k{} {}", work.m, work.n, work.k, work.kind);
    return fmt::format("{} {} B", op.kind == isa::Tcgen05Op::Kind::cp ? "tcgen05.cp" : "tcgen05.shift", work.copy_bytes);
  }

  Json tensor_args(const CtaTrace::TensorOp& op, uint64_t cta) const {
    Json args = {{"warp", op.warp}, {"queued_cycles", op.from - op.issued}, {"results_after_cycles", op.done - op.issued}, {"cta_group", op.op.cta_group}};
    if (cta != id_) args["issued_by"] = fmt::format("CTA {}", cta);
    const isa::TensorAddress d = isa::TensorAddress::of(op.op.d);
    args["tmem_column"] = d.column;
    if (op.op.kind == isa::Tcgen05Op::Kind::mma) args["accumulates"] = op.op.accumulate;
    args["instruction"] = short_name(inst(op.op.index));
    args["source"] = l_.source(inst(op.op.index));
    return args;
  }

  Cycle end_of_commit(uint64_t cta, uint32_t index) const { return l_.trace.of(cta)->tensor_ops()[index].done - 1; }

  /// From its issue until all operations before it are complete and its arrivals leave.
  void draw_commits() const {
    uint32_t tracks = 0;
    const CtaTrace::TensorOp* last = nullptr;  // that the tensor core works on
    for (uint32_t i = 0; i < t_.tensor_ops().size(); ++i) {
      const CtaTrace::TensorOp& op = t_.tensor_ops()[i];
      if (op.op.kind != isa::Tcgen05Op::Kind::commit) {
        last = &op;
        continue;
      }
      const uint32_t tid = l_.commits.at({id_, i});
      for (; tracks <= tid - kCommits; ++tracks) name_track(kCommits + tracks, fmt::format("commit {}", tracks));
      Json args = {{"warp", op.warp}, {"mbarrier", l_.place(op.op.mbarrier.offset)}, {"cycles", op.done - op.issued}};
      if (t_.tensor_ops()[i].op.cta_mask != 1u << op.op.rank) args["cta_mask"] = fmt::format("0x{:x}", op.op.cta_mask);
      args["instruction"] = short_name(inst(op.op.index));
      args["source"] = l_.source(inst(op.op.index));
      l_.slice(id_, tid, "commit on " + l_.place(op.op.mbarrier.offset), "commit", op.issued, op.done, std::move(args));
      l_.flow("issued", id_, warp_tid(op.warp), op.issued, id_, tid, op.issued);
      if (last != nullptr) l_.flow("completed", id_, kTensor, std::min(last->to, op.done) - 1, id_, tid, op.done - 1);
    }
  }

  /// Columns of Tensor Memory that the CTA owns.
  void draw_columns() const {
    const auto& changes = t_.tensor_columns();
    if (changes.empty()) return;
    name_track(kColumns, "TMEM columns");
    Cycle end = changes.back().at + 1;
    for (const auto& slices : t_.warps())
      if (!slices.empty()) end = std::max(end, slices.back().to);
    for (size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].units == 0) continue;
      const auto columns = static_cast<uint32_t>(std::popcount(changes[i].units)) * isa::TensorMemory::kUnit;
      const auto first = static_cast<uint32_t>(std::countr_zero(changes[i].units)) * isa::TensorMemory::kUnit;
      l_.slice(id_, kColumns, fmt::format("{} columns", columns), "columns", changes[i].at, i + 1 < changes.size() ? changes[i + 1].at : end,
               {{"columns", columns}, {"first", first}, {"of", uint32_t{isa::TensorMemory::kColumns}}});
    }
  }

  void draw_accesses() const {
    std::array<bool, kQuarters> named{};
    for (const CtaTrace::TensorAccess& a : t_.tensor_accesses()) {
      const uint32_t quarter = a.warp % kQuarters, lane = quarter * isa::TensorMemory::kWarpLanes;
      if (!std::exchange(named[quarter], true)) name_track(kAccesses + quarter, fmt::format("TMEM lanes {}-{}", lane, lane + isa::TensorMemory::kWarpLanes - 1));
      l_.slice(id_, kAccesses + quarter, short_name(inst(a.inst)), "tmem", a.from, a.to,
               {{"warp", a.warp}, {"columns", isa::TensorAccess::of(inst(a.inst)).columns()}, {"results_after_cycles", a.done - a.from}, {"instruction", short_name(inst(a.inst))}, {"source", l_.source(inst(a.inst))}});
      l_.flow("issued", id_, warp_tid(a.warp), a.from, id_, kAccesses + quarter, a.from);
    }
  }

  /// The last access that a tcgen05.wait waits for.
  const CtaTrace::TensorAccess* last_access(uint32_t warp, const CtaTrace::Wait& w) const {
    const CtaTrace::TensorAccess* last = nullptr;
    for (const CtaTrace::TensorAccess& a : t_.tensor_accesses())
      if (a.warp == warp && a.done <= w.resumed) last = &a;
    return last;
  }

  // ---- mbarriers ----

  void draw_barriers() {
    struct State { uint32_t tid; uint64_t phase = 0; Cycle first = kNever, end = 0; };
    std::map<uint32_t, State> states;
    for (const CtaTrace::BarrierChange& c : t_.barrier_changes()) states.emplace(c.offset, State{0});
    uint32_t next = kBarriers;
    for (auto& [offset, state] : states) {
      barrier_tids_[offset] = next;
      state.tid = next++;
      name_track(state.tid, "mbarrier " + l_.place(offset));
    }
    for (const CtaTrace::BarrierChange& c : t_.barrier_changes()) {
      State& state = states.at(c.offset);
      const std::string where = l_.place(c.offset);
      l_.put({{"ph", "C"}, {"pid", l_.pid(id_)}, {"ts", l_.time(c.at)}, {"name", where}, {"args", {{"arrivals missing", c.pending}, {"bytes missing", c.bytes}}}});
      const bool begun = c.pending != c.expected || c.bytes != 0;
      if (c.phase != state.phase) {
        // A phase of one arrival begins and ends with it: it shows as the cycle before.
        const Cycle from = std::max(state.end, std::min(state.first, c.at - 1));
        l_.slice(id_, state.tid, fmt::format("phase {}", state.phase), "mbarrier", from, c.at, {{"mbarrier", where}, {"phase", state.phase}, {"arrivals", c.expected}});
        ends_.insert({c.offset, c.at});
        state.phase = c.phase;
        state.first = kNever;
        state.end = c.at;
      }
      if (begun && state.first == kNever) state.first = c.at;
    }
  }

  /// Bytes and commits that arrive at an mbarrier. The arrival that ends a phase lies in its last cycle.
  void draw_arrivals() const {
    const auto arrow = [&](uint64_t cta, uint32_t tid, Cycle from, uint32_t offset, Cycle at) {
      const auto barrier = barrier_tids_.find(offset);
      if (barrier == barrier_tids_.end()) return;
      const Cycle to = at - ends_.count({offset, at});
      l_.flow("arrives", cta, tid, std::min(from, to), id_, barrier->second, to);
    };
    for (const CtaTrace::Landing& landing : t_.commits())
      arrow(landing.cta, l_.commits.at({landing.cta, landing.index}), end_of_commit(landing.cta, landing.index), l_.trace.of(landing.cta)->tensor_ops()[landing.index].op.mbarrier.offset, landing.at);
    for (const CtaTrace::Landing& landing : t_.landings()) {
      const CtaTrace* issuer = l_.trace.of(landing.cta);
      const isa::BulkCopy& copy = issuer->copies()[landing.index].copy;
      if (copy.has_mbarrier) arrow(landing.cta, l_.lanes.at({landing.cta, landing.index}), landing.at - 1, copy.mbarrier.offset, landing.at);
    }
  }

  const Launch& l_;
  const CtaTrace& t_;
  uint64_t id_;
  std::map<uint32_t, uint32_t> barrier_tids_;        // by offset
  std::set<std::pair<uint32_t, Cycle>> ends_;        // of phases: offset, cycle
};

Copies landings(const Trace& trace) {
  Copies landed;
  for (const auto& cta : trace.ctas())
    for (const CtaTrace::Landing& landing : cta->landings()) {
      Cycle& at = landed[{landing.cta, landing.index}];
      at = std::max(at, landing.at);
    }
  return landed;
}

/// Tracks of slices that may overlap, in the order of their beginnings.
class FreeTracks {
 public:
  explicit FreeTracks(uint32_t first) : first_(first) {}
  uint32_t take(Cycle from, Cycle to) {
    size_t track = 0;
    while (track < free_.size() && free_[track] > from) ++track;
    if (track == free_.size()) free_.push_back(0);
    free_[track] = to;
    return first_ + static_cast<uint32_t>(track);
  }

 private:
  uint32_t first_;
  std::vector<Cycle> free_;
};

Lanes copy_lanes(const Trace& trace, const Copies& landed) {
  Lanes lanes;
  for (const auto& cta : trace.ctas()) {
    FreeTracks tracks(kTma);
    for (uint32_t i = 0; i < cta->copies().size(); ++i) {
      const Cycle issued = cta->copies()[i].issued;
      const auto it = landed.find({cta->linear(), i});
      lanes[{cta->linear(), i}] = tracks.take(issued, it == landed.end() ? issued + 1 : it->second);
    }
  }
  return lanes;
}

Lanes commit_lanes(const Trace& trace) {
  Lanes lanes;
  for (const auto& cta : trace.ctas()) {
    FreeTracks tracks(kCommits);
    for (uint32_t i = 0; i < cta->tensor_ops().size(); ++i)
      if (const CtaTrace::TensorOp& op = cta->tensor_ops()[i]; op.op.kind == isa::Tcgen05Op::Kind::commit) lanes[{cta->linear(), i}] = tracks.take(op.issued, op.done);
  }
  return lanes;
}

}  // namespace

void Timeline::add(const Trace& trace, const LoweredProgram& program, const isa::Module& module, Cycle cycles) {
  const Copies landed = landings(trace);
  const Lanes lanes = copy_lanes(trace, landed), commits = commit_lanes(trace);
  const Launch launch{module, program, trace, landed, lanes, commits, offset_, launches_, flows_, events_};
  for (const auto& cta : trace.ctas())
    if (cta->started()) CtaPicture(launch, *cta).draw();
  kernels_ += (launches_ == 0 ? "" : ", ") + program.kernel->name;
  offset_ += cycles;
  ++launches_;
}

std::string Timeline::json() const {
  const Json about = {{"time_unit", "one SM cycle is shown as 1 ns"}, {"kernel", kernels_}};
  return fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n", about.dump(-1, ' ', false, Json::error_handler_t::replace), events_);
}

}  // namespace tcsim::sim
