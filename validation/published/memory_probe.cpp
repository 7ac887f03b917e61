// Shared memory, caches and DRAM: pointer chases, conflicts and streams.
#include <fmt/format.h>

#include <sstream>

#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = kKiB * kKiB;

std::string entry(uint32_t sm, const char* params) {
  return ptx_header(sm) +
         fmt::format(
             ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k({})\n{{\n"
             " .reg .b64 %out, %chase, %t0, %t1, %p0, %o; .reg .b32 %thr, %warp, %cta, %n, %i, %x, %y, %smb, %v<16>; .reg .pred %p;\n"
             " ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; ld.global.u64 %t0, [%out]; add.s64 %out, %out, %t0; mov.u32 %thr, %tid.x; "
             "shr.u32 %warp, %thr, 5; mov.u32 %cta, %ctaid.x; mov.u32 %smb, smem;\n",
             params);
}
constexpr const char* kOut = ".param .u64 out";
constexpr const char* kOutChase = ".param .u64 out, .param .u64 chase";

std::string loop(const char* label, uint32_t passes, const std::string& body) {
  return fmt::format(" mov.u32 %i, 0;\n{0}:\n{1} add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {2}; @%p bra {0};\n", label, body, passes);
}
std::string repeated(uint32_t times, const std::string& text) {
  std::string out;
  for (uint32_t i = 0; i < times; ++i) out += text;
  return out;
}
/// Stores the clocks of the warp; `sink` is a register that keeps the loads alive.
std::string store(const char* sink) {
  return fmt::format(
      " mul.wide.u32 %o, %warp, 16; add.s64 %o, %o, %out; st.global.u64 [%o], %t0; st.global.u64 [%o+8], %t1;\n"
      " setp.eq.u32 %p, {0}, 0x12345678;\n @%p st.global.u32 [%out], {0};\n ret;\n}}\n",
      sink);
}

/// A chase through global memory: `warm` loads, then the timed ones.
struct GlobalChase {
  uint64_t bytes, stride;
  uint32_t warm, timed;
  const char* cache;   // "" or ".cg" (L2 only)
  bool index;          // addresses are computed from 32-bit indices, as C arrays do
  uint64_t touch = 0;  // one word of each page of so many bytes is read first, in a sector that the chase does not use
};

Probe global_chase(const GlobalChase& c, uint32_t sm) {
  constexpr uint32_t kUnroll = 8;
  const std::string step = c.index ? fmt::format(" mul.wide.u32 %o, %x, 4; add.s64 %p0, %chase, %o; ld.global{}.u32 %x, [%p0];\n", c.cache)
                                   : fmt::format(" ld.global{}.u64 %p0, [%p0];\n", c.cache);
  const auto steps = [&](const char* label, uint32_t n) { return loop(label, n / kUnroll, repeated(kUnroll, step)); };
  std::ostringstream s;
  s << entry(sm, kOutChase) << " ld.param.u64 %chase, [chase]; cvta.to.global.u64 %chase, %chase; mov.u64 %p0, %chase; mov.u32 %x, 0;\n";
  if (c.touch)
    s << fmt::format(" add.s64 %o, %chase, {};\n", c.stride / 2)
      << loop("TOUCH", static_cast<uint32_t>(c.bytes / c.touch),
              fmt::format(" ld.global.cg.u32 %y, [%o]; add.s64 %o, %o, {}; xor.b32 %x, %x, %y;\n", c.touch))
      << " mov.u32 %x, 0;\n bar.sync 0;\n";
  if (c.warm) s << steps("WARM", c.warm);
  s << " mov.u64 %t0, %clock64;\n"
    << steps("TIMED", c.timed) << (c.index ? " xor.b32 %y, %x, %x;\n" : " cvt.u32.u64 %y, %p0;\n") << " mov.u64 %t1, %clock64;\n"
    << store("%y");
  Probe p;
  p.runs.push_back({s.str(), launch_text(1, 32, 0, 2, c.bytes), 1, double(c.timed), {c.bytes, c.stride, !c.index}});
  return p;
}

Probe shared_chase(bool index, uint32_t sm) {
  constexpr uint32_t kLoops = 32, kUnroll = 8;
  const std::string step = index ? " shl.b32 %y, %x, 2; add.u32 %y, %y, %smb; ld.shared.u32 %x, [%y];\n" : " ld.shared.u32 %x, [%x];\n";
  std::ostringstream s;
  s << entry(sm, kOut) << (index ? " mov.u32 %x, 0; st.shared.u32 [%smb], %x;\n" : " mov.u32 %x, %smb; st.shared.u32 [%smb], %x;\n")
    << " bar.sync 0;\n mov.u64 %t0, %clock64;\n"
    << loop("TIMED", kLoops, repeated(kUnroll, step)) << " xor.b32 %y, %x, %smb;\n mov.u64 %t1, %clock64;\n"
    << store("%y");
  Probe p;
  p.runs.push_back({s.str(), launch_text(1, 32, 4096, 2), 1, double(kLoops) * kUnroll, {}});
  return p;
}

/// One warp, loads that do not depend on each other, `ways` words of each bank. dependent: a chain instead.
Probe shared_conflicts(uint32_t ways, bool dependent, uint32_t sm) {
  constexpr uint32_t kLoops = 32, kUnroll = 8;
  std::string body;
  for (uint32_t u = 0; u < kUnroll; ++u)
    body += dependent ? " ld.shared.u32 %x, [%x];\n" : fmt::format(" ld.shared.u32 %v{0}, [%y+{1}]; xor.b32 %x, %x, %v{0};\n", u, 4 * u * 32);
  std::string written;
  for (uint32_t u = 0; u < kUnroll; ++u) written += fmt::format(" st.shared.u32 [%y+{}], %y;\n", 4 * u * 32);
  std::ostringstream s;
  s << entry(sm, kOut) << fmt::format(" mul.lo.u32 %y, %thr, {}; add.u32 %y, %y, %smb; mov.u32 %x, %y;\n", 4 * ways) << written
    << " st.shared.u32 [%y], %y;\n bar.sync 0;\n mov.u64 %t0, %clock64;\n"
    << loop("TIMED", kLoops, body) << " xor.b32 %y, %x, %smb;\n mov.u64 %t1, %clock64;\n"
    << store("%y");
  Probe p;
  p.runs.push_back({s.str(), launch_text(1, 32, 4 * 32 * ways + 4096, 2), 1, double(kLoops) * kUnroll, {}});
  return p;
}

/// All warps of an SM read 16 KiB over and over with 16-byte loads.
Probe sm_stream(bool shared, uint32_t sm) {
  constexpr uint32_t kThreads = 1024, kLoops = 64, kUnroll = 4;
  std::string body;
  for (uint32_t u = 0; u < kUnroll; ++u)
    body += fmt::format(" ld.{4}.v4.u32 {{%v{0}, %v{1}, %v{2}, %v{3}}}, [{5}];\n", 4 * u, 4 * u + 1, 4 * u + 2, 4 * u + 3,
                        shared ? "shared" : "global", shared ? "%y" : "%p0");
  for (uint32_t u = 0; u < kUnroll; ++u) body += fmt::format(" xor.b32 %x, %x, %v{};\n", 4 * u);
  std::ostringstream s;
  s << entry(sm, shared ? kOut : kOutChase) << " mov.u32 %x, 0; shl.b32 %y, %thr, 4; cvt.u64.u32 %o, %y; add.u32 %y, %y, %smb;\n";
  if (shared) s << " st.shared.v4.u32 [%y], {%x, %x, %x, %x};\n";
  else
    s << " ld.param.u64 %chase, [chase]; cvta.to.global.u64 %chase, %chase; add.s64 %p0, %chase, %o; ld.global.u32 %v0, [%p0]; xor.b32 %x, %x, "
         "%v0;\n";
  s << " bar.sync 0;\n mov.u64 %t0, %clock64;\n" << loop("TIMED", kLoops, body) << " mov.u32 %y, %x;\n mov.u64 %t1, %clock64;\n" << store("%y");
  Probe p;
  p.runs.push_back({s.str(),
                    launch_text(1, kThreads, shared ? 16 * kThreads : 0, 2 * kThreads / 32, shared ? 0 : 16 * kThreads),
                    kThreads / 32,
                    double(kLoops) * kUnroll * kThreads * 16,
                    {}});
  p.rate = true;
  return p;
}

/// Every SM reads `passes` times its part of `bytes` (or all the same bytes) past L1; the first pass fills L2. B/cycle of the chip.
Probe chip_stream(uint64_t bytes_per_sm, uint32_t passes, const cfg::Machine& m) {
  constexpr uint32_t kThreads = 512, kUnroll = 4;
  const uint64_t chip = bytes_per_sm * m.chip.sms;
  Probe p;
  const uint32_t first = passes == 1 ? 0 : 1;
  for (const uint32_t n : {first, passes}) {
    // With one pass over new bytes, the shorter run reads half of them.
    const uint64_t part = passes == 1 ? (n == 0 ? bytes_per_sm / 2 : bytes_per_sm) : bytes_per_sm;
    const uint32_t repeats = passes == 1 ? 1 : n;
    std::string body;
    for (uint32_t u = 0; u < kUnroll; ++u)
      body +=
          fmt::format(" ld.global.cg.v4.u32 {{%v{0}, %v{1}, %v{2}, %v{3}}}, [%p0+{4}];\n", 4 * u, 4 * u + 1, 4 * u + 2, 4 * u + 3, 16 * kThreads * u);
    for (uint32_t u = 0; u < kUnroll; ++u) body += fmt::format(" xor.b32 %x, %x, %v{};\n", 4 * u);
    body += fmt::format(" add.s64 %p0, %p0, {};\n", 16 * kThreads * kUnroll);
    std::ostringstream s;
    s << entry(m.chip.sm, kOutChase) << " mov.u32 %x, 0; ld.param.u64 %chase, [chase]; cvta.to.global.u64 %chase, %chase;\n"
      << fmt::format(" mul.wide.u32 %o, %cta, {}; add.s64 %chase, %chase, %o; mul.wide.u32 %o, %thr, 16; add.s64 %chase, %chase, %o;\n", bytes_per_sm)
      << " mov.u64 %t0, %clock64; mov.u32 %n, 0;\nPASS:\n mov.u64 %p0, %chase;\n"
      << loop("TIMED", static_cast<uint32_t>(part / (16 * kThreads * kUnroll)), body)
      << fmt::format(" add.u32 %n, %n, 1; setp.lt.u32 %p, %n, {}; @%p bra PASS;\n", repeats) << " mov.u64 %t1, %clock64;\n"
      << store("%x");
    p.runs.push_back(
        {s.str(), launch_text(m.chip.sms, kThreads, 0, 2 * kThreads / 32, chip), kThreads / 32, double(part) * repeats * m.chip.sms, {}});
  }
  p.clocks = Probe::Clocks::kernel;
  p.rate = true;
  return p;
}

}  // namespace

std::optional<Probe> memory_probe(const Reading& r, const cfg::Machine& m) {
  const uint32_t sm = m.chip.sm;
  const bool index = r.what == "index";
  if (r.quantity == "shared_latency") return shared_chase(index, sm);
  if (r.quantity == "shared_conflict_latency") return shared_conflicts(std::stoul(r.what), true, sm);
  if (r.quantity == "shared_conflict_interval") return shared_conflicts(std::stoul(r.what), false, sm);
  if (r.quantity == "shared_bandwidth") return sm_stream(true, sm);
  if (r.quantity == "l1_bandwidth") return sm_stream(false, sm);
  if (r.quantity == "l1_latency") return global_chase({8 * kKiB, 128, 128, 512, "", index}, sm);
  if (r.quantity == "l2_latency") return global_chase({512 * kKiB, 256, 2048, 2048, ".cg", index}, sm);
  if (r.quantity == "dram_latency") return global_chase({64 * kMiB, 64 * kKiB, 0, 1024, ".cg", index, 2 * kMiB}, sm);
  if (r.quantity == "l2_bandwidth") return chip_stream(64 * kKiB, 3, m);
  if (r.quantity == "dram_bandwidth") return chip_stream(256 * kKiB, 1, m);
  return std::nullopt;
}

}  // namespace tcsim::published
