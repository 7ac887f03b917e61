#include "sim/trace/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "isa/layout/tensor_map.h"
#include "sim/trace/picture.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;
using Kind = isa::BulkCopy::Kind;

constexpr uint32_t kWarpsOfGroup = 4;

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

class CtaPicture : CtaView {
 public:
  using CtaView::CtaView;

  void draw() {
    name_process();
    draw_warps();
    draw_copies();
    draw_wgmma();
    draw_tcgen05(*this);
    draw_barriers();
    draw_arrivals();
  }

 private:
  const isa::Inst& inst_of(uint32_t op) const { return inst(l_.program.ops[op].inst); }

  void name_process() const {
    const isa::Dim3 at = t_.id();
    const std::string launch = l_.number == 0 ? "" : fmt::format("launch {}, ", l_.number + 1);
    l_.put({{"ph", "M"},
            {"pid", l_.pid(id_)},
            {"name", "process_name"},
            {"args", {{"name", fmt::format("{}CTA {} ({},{},{}) on SM {}", launch, id_, at.x, at.y, at.z, t_.sm())}}}});
    l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"name", "process_sort_index"}, {"args", {{"sort_index", l_.pid(id_)}}}});
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
          l_.slice(id_, warp_tid(warp), "issue", "issue", s.from, s.to,
                   {{"instructions", s.to - s.from}, {"first", inst_of(s.op).text}, {"source", l_.source(inst_of(s.op))}});
        } else {
          draw_wait(warp, s);
        }
      }
      draw_open_wait(warp);
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

  /// A wait that the run did not see end: a deadlock, or a record that is full.
  void draw_open_wait(uint32_t warp) const {
    const uint32_t open = t_.open_wait(warp);
    const Cycle from = t_.warps()[warp].empty() ? t_.begin() : t_.warps()[warp].back().to;
    if (open == CtaTrace::kNone) return;
    const CtaTrace::Wait& w = t_.waits()[open];
    Json args = {{"reason", open_reason(w.on)}, {"waits_in", inst(w.inst).text}, {"waits_at", l_.source(inst(w.inst))}, {"ended_by", "nothing"}};
    const std::string title = describe(w, args);
    l_.slice(id_, warp_tid(warp), title, "wait", from, std::max(end_, from + 1), std::move(args));
  }

  static std::string_view open_reason(Blocked on) {
    return name(on == Blocked::barrier || on == Blocked::cluster ? Stall::barrier : Stall::long_scoreboard);
  }

  std::string describe(const CtaTrace::Wait& w, Json& args) const {
    if (w.timed_out) args["ended_by"] = "time limit";
    using By = CtaTrace::Cause::By;
    switch (w.cause.by) {
      case By::copy: args["ended_by"] = "bulk copy"; break;
      case By::wgmma: args["ended_by"] = "wgmma"; break;
      case By::tensor:
        args["ended_by"] = w.cause.cta == id_ ? std::string("tcgen05.commit") : fmt::format("tcgen05.commit of CTA {}", w.cause.cta);
        break;
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
      l_.flow("committed", w.cause.cta, l_.commits.at({w.cause.cta, w.cause.index}), std::min(l_.end_of_commit(w.cause.cta, w.cause.index), at), id_,
              warp_tid(warp), at);
    } else if (w.on == Blocked::no) {
      if (const CtaTrace::TensorAccess* a = last_access(warp, w))
        l_.flow("accessed", id_, kAccesses + warp % kQuarters, a->to - 1, id_, warp_tid(warp), std::max(a->to - 1, at));
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
      l_.slice(id_, tid, std::string(kind_name(c.copy.kind)), "tma", c.issued, complete ? landed->second : c.issued + 1,
               copy_args(c, complete ? landed->second - c.issued : 0, complete));
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

  /// The last access that a tcgen05.wait waits for.
  const CtaTrace::TensorAccess* last_access(uint32_t warp, const CtaTrace::Wait& w) const {
    const CtaTrace::TensorAccess* last = nullptr;
    for (const CtaTrace::TensorAccess& a : t_.tensor_accesses())
      if (a.warp == warp && a.done <= w.resumed) last = &a;
    return last;
  }

  // ---- mbarriers ----

  void draw_barriers() {
    struct State {
      uint32_t tid;
      uint64_t phase = 0;
      Cycle first = kNever, end = 0;
    };
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
      l_.put({{"ph", "C"},
              {"pid", l_.pid(id_)},
              {"ts", l_.time(c.at)},
              {"name", where},
              {"args", {{"arrivals missing", c.pending}, {"bytes missing", c.bytes}}}});
      const bool begun = c.pending != c.expected || c.bytes != 0;
      if (c.phase != state.phase) {
        // A phase of one arrival begins and ends with it: it shows as the cycle before.
        const Cycle from = std::max(state.end, std::min(state.first, c.at - 1));
        l_.slice(id_, state.tid, fmt::format("phase {}", state.phase), "mbarrier", from, c.at,
                 {{"mbarrier", where}, {"phase", state.phase}, {"arrivals", c.expected}});
        ends_.insert({c.offset, c.at});
        state.phase = c.phase;
        state.first = kNever;
        state.end = c.at;
      }
      if (begun && state.first == kNever) state.first = c.at;
    }
    for (const auto& [offset, state] : states) {
      if (state.first == kNever) continue;
      const std::string where = l_.place(offset);
      l_.slice(id_, state.tid, fmt::format("phase {}, unfinished", state.phase), "mbarrier", state.first, std::max(end_, state.first + 1),
               {{"mbarrier", where}, {"phase", state.phase}});
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
      arrow(landing.cta, l_.commits.at({landing.cta, landing.index}), l_.end_of_commit(landing.cta, landing.index),
            l_.trace.of(landing.cta)->tensor_ops()[landing.index].op.mbarrier.offset, landing.at);
    for (const CtaTrace::Landing& landing : t_.landings()) {
      const CtaTrace* issuer = l_.trace.of(landing.cta);
      const isa::BulkCopy& copy = issuer->copies()[landing.index].copy;
      if (copy.has_mbarrier) arrow(landing.cta, l_.lanes.at({landing.cta, landing.index}), landing.at - 1, copy.mbarrier.offset, landing.at);
    }
  }

  std::map<uint32_t, uint32_t> barrier_tids_;  // by offset
  std::set<std::pair<uint32_t, Cycle>> ends_;  // of phases: offset, cycle
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
      if (const CtaTrace::TensorOp& op = cta->tensor_ops()[i]; op.op.kind == isa::Tcgen05Op::Kind::commit)
        lanes[{cta->linear(), i}] = tracks.take(op.issued, op.done);
  }
  return lanes;
}

}  // namespace

void Timeline::add(const Trace& trace, const LoweredProgram& program, const isa::Module& module, Cycle cycles) {
  const Copies landed = landings(trace);
  const Lanes lanes = copy_lanes(trace, landed), commits = commit_lanes(trace);
  const TracedLaunch launch{module, program, trace, landed, lanes, commits, offset_, launches_, flows_, events_};
  for (const auto& cta : trace.ctas())
    if (cta->started()) CtaPicture(launch, *cta).draw();
  kernels_ += (launches_ == 0 ? "" : ", ") + program.kernel->name;
  offset_ += cycles;
  ++launches_;
}

std::string Timeline::json() const {
  const Json about = {{"time_unit", "one SM cycle is shown as 1 ns"}, {"kernel", kernels_}};
  return fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n",
                     about.dump(-1, ' ', false, Json::error_handler_t::replace), events_);
}

}  // namespace tcsim::sim
