#include "sim/trace/picture.h"

#include <algorithm>

#include "isa/exec/report.h"
#include "sim/trace/shared_names.h"

namespace tcsim::sim {

std::string short_name(const isa::Inst& inst) {
  std::string name(inst.text.substr(0, inst.text.find(' ')));
  for (const std::string_view part : {".sync", ".aligned"})
    if (const size_t at = name.find(part); at != std::string::npos) name.erase(at, part.size());
  return name;
}

std::string TracedLaunch::place(uint32_t shared) const { return shared_place(module, kernel(), shared).str(); }

std::string TracedLaunch::source(const isa::Inst& inst) const {
  return inst.loc.file != 0 ? module.source_of(inst) : isa::place_of(module, inst).str();
}

void TracedLaunch::put(const Json& event) const {
  if (!out.empty()) out += ",\n";
  out += event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void TracedLaunch::slice(uint64_t cta, uint32_t tid, const std::string& name, std::string_view category, Cycle from, Cycle to, Json args) const {
  put({{"ph", "X"},
       {"pid", pid(cta)},
       {"tid", tid},
       {"ts", time(from)},
       {"dur", static_cast<double>(to - from) / 1000.0},
       {"name", name},
       {"cat", category},
       {"args", std::move(args)}});
}

void TracedLaunch::flow(std::string_view name, uint64_t from_cta, uint32_t from_tid, Cycle from, uint64_t to_cta, uint32_t to_tid, Cycle to) const {
  const uint64_t id = ++flows;
  put({{"ph", "s"}, {"pid", pid(from_cta)}, {"tid", from_tid}, {"ts", time(from)}, {"id", id}, {"name", name}, {"cat", "flow"}});
  put({{"ph", "f"}, {"bp", "e"}, {"pid", pid(to_cta)}, {"tid", to_tid}, {"ts", time(to)}, {"id", id}, {"name", name}, {"cat", "flow"}});
}

CtaView::CtaView(const TracedLaunch& launch, const CtaTrace& cta) : l_(launch), t_(cta), id_(cta.linear()) {
  for (const auto& slices : t_.warps())
    if (!slices.empty()) end_ = std::max(end_, slices.back().to);
  if (!t_.barrier_changes().empty()) end_ = std::max(end_, t_.barrier_changes().back().at);
}

void CtaView::name_track(uint32_t tid, const std::string& name) const {
  l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}});
  l_.put({{"ph", "M"}, {"pid", l_.pid(id_)}, {"tid", tid}, {"name", "thread_sort_index"}, {"args", {{"sort_index", tid}}}});
}

}  // namespace tcsim::sim
