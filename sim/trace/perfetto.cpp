#include "sim/trace/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isa/exec/report.h"
#include "isa/layout/tensor_map.h"
#include "sim/trace/shared_names.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;
using Copies = std::map<std::pair<uint64_t, uint32_t>, Cycle>;  // (CTA, copy) -> last landing
using Kind = isa::BulkCopy::Kind;

constexpr uint32_t kWarpsOfGroup = 4;
/// Thread ids of the tracks; warps are 1, 2, ... (0 means the idle process to Perfetto).
constexpr uint32_t kTma = 1000, kTensor = 2000, kBarriers = 3000;

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

/// What all CTAs of a launch share.
struct Launch {
  const isa::Module& module;
  const LoweredProgram& program;
  const Copies& landed;
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

/// Copies overlap and slices of a track must not: each copy goes to the first track that is free at its issue.
using Lanes = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;  // (CTA, copy) -> track

class CtaPicture {
 public:
  CtaPicture(const Launch& launch, const CtaTrace& cta, const Lanes& lanes) : l_(launch), t_(cta), lanes_(lanes), id_(cta.linear()) {}

  void draw() {
    name_process();
    draw_warps();
    draw_copies();
    draw_wgmma();
    draw_barriers();
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

  /// producer: asks for bulk loads; consumer: runs wgmma; epilogue: only stores.
  std::string role(uint32_t warp) const {
    bool loads = false, stores = false, multiplies = false;
    for (const CtaTrace::Copy& c : t_.copies())
      if (c.warp == warp) (c.copy.kind == Kind::load || c.copy.kind == Kind::shared_to_cluster ? loads : stores) = true;
    for (const CtaTrace::Wgmma& g : t_.wgmmas()) multiplies |= g.group == warp / kWarpsOfGroup;
    std::string out;
    if (loads) out += " producer";
    if (multiplies) out += " consumer";
    if (stores && out.empty()) out += " epilogue";
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
      default: return "wait";
    }
  }

  void draw_cause(uint32_t warp, const CtaTrace::Slice& s, const CtaTrace::Wait& w) const {
    const Cycle at = std::min(w.resumed, s.to - 1);
    using By = CtaTrace::Cause::By;
    if (w.cause.by == By::copy) {
      const auto lane = lanes_.find({w.cause.cta, w.cause.index});
      if (lane != lanes_.end()) l_.flow("landed", w.cause.cta, lane->second, w.cause.at - 1, id_, warp_tid(warp), at);
    } else if (w.cause.by == By::wgmma) {
      const CtaTrace::Wgmma& g = t_.wgmmas()[w.cause.index];
      if (g.to != kNever) l_.flow("completed", id_, kTensor, g.to - 1, id_, warp_tid(warp), at);
    } else if (w.cause.by == By::warp) {
      l_.flow("released", id_, warp_tid(w.cause.index), w.cause.at, id_, warp_tid(warp), at);
    }
  }

  // ---- engines ----

  void draw_copies() const {
    uint32_t tracks = 0;
    for (uint32_t i = 0; i < t_.copies().size(); ++i) {
      const CtaTrace::Copy& c = t_.copies()[i];
      const uint32_t tid = lanes_.at({id_, i});
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

  // ---- mbarriers ----

  void draw_barriers() const {
    struct State { uint32_t tid; uint64_t phase = 0; Cycle first = kNever; };
    std::map<uint32_t, State> states;
    for (const CtaTrace::BarrierChange& c : t_.barrier_changes()) states.emplace(c.offset, State{0});
    uint32_t next = kBarriers;
    for (auto& [offset, state] : states) {
      state.tid = next++;
      name_track(state.tid, "mbarrier " + l_.place(offset));
    }
    for (const CtaTrace::BarrierChange& c : t_.barrier_changes()) {
      State& state = states.at(c.offset);
      const std::string where = l_.place(c.offset);
      l_.put({{"ph", "C"}, {"pid", l_.pid(id_)}, {"ts", l_.time(c.at)}, {"name", where}, {"args", {{"arrivals missing", c.pending}, {"bytes missing", c.bytes}}}});
      const bool begun = c.pending != c.expected || c.bytes != 0;
      if (c.phase != state.phase) {
        l_.slice(id_, state.tid, fmt::format("phase {}", state.phase), "mbarrier", std::min(state.first, c.at), c.at, {{"mbarrier", where}, {"phase", state.phase}, {"arrivals", c.expected}});
        state.phase = c.phase;
        state.first = kNever;
      }
      if (begun && state.first == kNever) state.first = c.at;
    }
  }

  const Launch& l_;
  const CtaTrace& t_;
  const Lanes& lanes_;
  uint64_t id_;
};

Copies landings(const Trace& trace) {
  Copies landed;
  for (const auto& cta : trace.ctas())
    for (const CtaTrace::Landing& landing : cta->landings()) {
      Cycle& at = landed[{landing.cta, landing.copy}];
      at = std::max(at, landing.at);
    }
  return landed;
}

Lanes lanes_of(const Trace& trace, const Copies& landed) {
  Lanes lanes;
  for (const auto& cta : trace.ctas()) {
    std::vector<Cycle> free;
    for (uint32_t i = 0; i < cta->copies().size(); ++i) {
      const Cycle issued = cta->copies()[i].issued;
      const auto it = landed.find({cta->linear(), i});
      size_t lane = 0;
      while (lane < free.size() && free[lane] > issued) ++lane;
      if (lane == free.size()) free.push_back(0);
      free[lane] = it == landed.end() ? issued + 1 : it->second;
      lanes[{cta->linear(), i}] = kTma + static_cast<uint32_t>(lane);
    }
  }
  return lanes;
}

}  // namespace

void Timeline::add(const Trace& trace, const LoweredProgram& program, const isa::Module& module, Cycle cycles) {
  const Copies landed = landings(trace);
  const Lanes lanes = lanes_of(trace, landed);
  const Launch launch{module, program, landed, offset_, launches_, flows_, events_};
  for (const auto& cta : trace.ctas())
    if (cta->started()) CtaPicture(launch, *cta, lanes).draw();
  kernels_ += (launches_ == 0 ? "" : ", ") + program.kernel->name;
  offset_ += cycles;
  ++launches_;
}

std::string Timeline::json() const {
  const Json about = {{"time_unit", "one SM cycle is shown as 1 ns"}, {"kernel", kernels_}};
  return fmt::format("{{\"displayTimeUnit\": \"ns\", \"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n", about.dump(-1, ' ', false, Json::error_handler_t::replace), events_);
}

}  // namespace tcsim::sim
