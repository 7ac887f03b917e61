#include "isa/exec/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tcsim::isa {
namespace {

const char* kind_of(uint8_t bit) {
  switch (bit) {
    case kUninitialisedRead: return "uninitialised-read";
    case kMissingWait: return "missing-wait";
    case kOverwriteInFlight: return "overwrite-in-flight";
    case kMissingProxyFence: return "missing-proxy-fence";
    case kSwizzleMismatch: return "swizzle-mismatch";
    case kWgmmaRegister: return "wgmma-register-hazard";
    default: return "stale-phase";
  }
}

const char* text_of(uint8_t bit) {
  switch (bit) {
    case kUninitialisedRead: return "reads bytes that were never written";
    case kMissingWait: return "reads bytes that a copy in flight will write (a wait is missing)";
    default: return "overwrites bytes that a copy in flight will write";
  }
}

/// "mbarrier at offset 24" -> "mbarrier full_bar[3] (offset 24)" in a text that knows no names.
std::string with_names(const Module& module, const Kernel& kernel, std::string text) {
  constexpr std::string_view kAt = "mbarrier at offset ";
  for (size_t at = text.find(kAt); at != std::string::npos; at = text.find(kAt, at + kAt.size())) {
    size_t end = at + kAt.size();
    uint32_t offset = 0;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') offset = offset * 10 + static_cast<uint32_t>(text[end++] - '0');
    const std::string name = shared_name(module, kernel, offset);
    if (!name.empty()) text.replace(at, end - at, fmt::format("mbarrier {} (offset {})", name, offset));
  }
  return text;
}

}  // namespace

std::string str(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

Place place_of(const Module& module, const Inst& inst) { return {module.path, inst.line, inst.col}; }

std::string brief(const Inst& inst) {
  std::string text;
  for (size_t at = 0; at < inst.text.size();) {
    const size_t open = inst.text.find('{', at), close = inst.text.find('}', open);
    text += inst.text.substr(at, open - at);
    if (open == std::string_view::npos) break;
    const std::string_view list = inst.text.substr(open, close - open + 1);
    const size_t comma = list.find(','), last = list.rfind(',');
    text += list.size() > 32 && comma != last ? fmt::format("{}, ...{}", list.substr(0, comma), list.substr(last)) : std::string(list);
    if (close == std::string_view::npos) break;
    at = close + 1;
  }
  return text;
}

std::string source_note(const Module& module, const Inst& inst) {
  // Without .loc the source is the PTX line itself, which the place tells already.
  return inst.loc.file ? fmt::format(" ({})", module.source_of(inst)) : std::string{};
}

std::string shared_name(const Module& module, const Kernel& kernel, uint32_t offset) {
  for (const auto& [index, base] : kernel.shared_symbols) {
    const Symbol& symbol = module.symbols[index];
    if (offset < base || offset - base >= symbol.bytes) continue;
    if (symbol.bytes == 8 && offset == base) return symbol.name;
    return symbol.type != Type::none && bits(symbol.type) == 64 ? fmt::format("{}[{}]", symbol.name, (offset - base) / 8)
                                                                : fmt::format("{}+{}", symbol.name, offset - base);
  }
  return {};
}

Diagnostic fault_diagnostic(const Module& module, const LaunchInfo& launch, const Cta& cta, const Warp& warp, const std::string& error) {
  const Inst& inst = warp.program().kernel->insts[warp.last_inst()];
  const Fault& fault = warp.ctx.fx.fault;
  const bool own = error.empty();
  std::string where = fmt::format("CTA {}, warp {}", str(cta.id), warp.index());
  const int lane = own ? fault.lane : -1;
  if (lane >= 0) {
    const uint32_t t = warp.index() * kLanes + static_cast<uint32_t>(lane);
    const Dim3& b = launch.block;
    where = fmt::format("CTA {}, thread {}, warp {} lane {}", str(cta.id), str({t % b.x, t / b.x % b.y, t / b.x / b.y}), warp.index(), lane);
  }
  const char* kind = own ? (fault.kind ? fault.kind : "illegal-instruction") : "barrier-misuse";
  return {Severity::error, kind, place_of(module, inst),
          fmt::format("{}{}: '{}' in {}", own ? with_names(module, *warp.program().kernel, fault.text) : error, source_note(module, inst),
                      brief(inst), where)};
}

Diagnostic async_fault_diagnostic(const Module& module, const Kernel& kernel, const Cta& cta, uint32_t warp, uint32_t inst,
                                  const MbarrierError& error) {
  const Inst& at = kernel.insts[inst];
  return {
      Severity::error, error.kind, place_of(module, at),
      fmt::format("{}{}: '{}' in CTA {}, warp {}", with_names(module, kernel, error.text), source_note(module, at), brief(at), str(cta.id), warp)};
}

void HazardLog::add(const Cta& cta, Warp& warp) {
  Effects& fx = warp.ctx.fx;
  for (HazardFinding& f : fx.findings) {
    Entry& e = entries_[{f.inst, f.named ? uint8_t{kFindings} : uint8_t{f.kind}}];  // one named kind an instruction
    if (e.count++ != 0) continue;
    e.cta = cta.id;
    e.warp = f.warp;
    e.lane = -1;
    if (f.offset != HazardFinding::kNone) e.where = fmt::format("offset {} of shared memory", f.offset);
    e.finding = std::move(f);
  }
  fx.findings.clear();
  for (const uint8_t bit : {uint8_t{kUninitialisedRead}, uint8_t{kMissingWait}, uint8_t{kOverwriteInFlight}}) {
    if (!(fx.hazard & bit)) continue;
    Entry& e = entries_[{warp.last_inst(), bit}];
    if (e.count++ != 0) continue;
    e.cta = cta.id;
    e.warp = warp.index();
    e.lane = fx.hazard_lane;
    e.address = fx.hazard_address;
    e.space = fx.access.kind == AccessKind::cp_async ? Space::shared : fx.access.space;
    if (e.space != Space::global) {
      e.where = fmt::format("offset {} of {} memory", e.address, name(e.space));
    } else if (const Allocation* a = warp.ctx.global->nearest(e.address)) {
      e.where = fmt::format("byte {} of buffer '{}'", e.address - a->base, a->name);
    }
  }
}

void HazardLog::merge(const HazardLog& other) {
  for (const auto& [key, entry] : other.entries_) {
    const auto [it, added] = entries_.emplace(key, entry);
    if (!added) it->second.count += entry.count;
  }
}

void HazardLog::report(const Module& module, const Kernel& kernel, Diagnostics& diags) const {
  std::map<uint32_t, uint64_t> register_hazards;  // instructions by wgmma: an epilogue reads each accumulator elsewhere
  for (const auto& [key, e] : entries_)
    if (key.second == kWgmmaRegister) ++register_hazards[e.finding.other];
  for (const auto& [key, e] : entries_) {
    const Inst& inst = kernel.insts[key.first];
    std::string what = e.lane >= 0 ? text_of(key.second) : e.finding.text, more;
    if (e.lane < 0) {
      std::string other;
      if (e.finding.other != HazardFinding::kNone) {
        const Inst& o = kernel.insts[e.finding.other];
        other = fmt::format("'{}' at {}{} (warp {})", brief(o), place_of(module, o).str(), source_note(module, o), e.finding.other_warp);
      }
      what = fmt::format(fmt::runtime(what), other);
    }
    if (key.second == kWgmmaRegister) {
      uint64_t& left = register_hazards[e.finding.other];
      if (left == 0) continue;  // told with the first
      if (left > 1) more = fmt::format("; so do {} more instructions", left - 1);
      left = 0;
    }
    diags.warning(e.lane < 0 && e.finding.named ? e.finding.named : kind_of(key.second), place_of(module, inst),
                  fmt::format("'{}'{} {}: {} time{}, first {}CTA {} warp {}{}{}", brief(inst), source_note(module, inst), what, e.count,
                              e.count == 1 ? "" : "s", e.where.empty() ? "in " : "at " + e.where + ", ", str(e.cta), e.warp,
                              e.lane >= 0 ? fmt::format(" lane {}", e.lane) : "", more));
  }
}

}  // namespace tcsim::isa
