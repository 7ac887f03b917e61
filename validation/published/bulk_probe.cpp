// Copies from DRAM on every SM at once, as the SemiAnalysis programs tma2d_* and ldgsts_* do them.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

constexpr uint64_t kMostBytes = 48ull << 20;  // read by one launch: the published programs read 2 GB, of which the last bytes cost as the first
constexpr uint32_t kMostSmem = 232448;        // as theirs, so that the SM's share for L1 is the same

std::string registers() {
  return " .reg .b64 %out, %g, %t0, %t1, %o, %map; .reg .b32 %thr, %warp, %cta, %ctas, %smb, %bar, %dst, %row, %step, %i, %slot, %phase, %x, %y, "
         "%zero; .reg .pred %p, %first, %done;\n"
         " ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; ld.global.u64 %t0, [%out]; add.s64 %out, %out, %t0; mov.u32 %thr, %tid.x; "
         "shr.u32 %warp, %thr, 5; mov.u32 %cta, %ctaid.x; mov.u32 %ctas, %nctaid.x; mov.u32 %smb, smem; mov.u32 %zero, 0;\n";
}

/// Thread 0 asks for the tile at row %row in slot %slot.
std::string tma_load(uint32_t tile_bytes) {
  return fmt::format(
      " mad.lo.u32 %dst, %slot, {0}, %smb; shl.b32 %bar, %slot, 3; add.u32 %bar, %bar, %x;\n"
      " @%first mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%bar], {0};\n"
      " @%first cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%dst], [%map, {{%zero, %row}}], [%bar];\n",
      tile_bytes);
}

struct Tile {
  uint32_t width, height, stages;
};

Probe tma(const Tile& t, bool latency, const cfg::Machine& m) {
  const uint32_t tile = 4 * t.width * t.height, ctas = m.chip.sms, barriers = tile * t.stages;
  const uint32_t loads = latency ? 1 : static_cast<uint32_t>(std::clamp<uint64_t>(kMostBytes / tile / ctas, 2 * t.stages, 48));
  std::ostringstream s;
  s << ptx_header(m.chip.sm) << ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(.param .u64 out, .param .align 64 .b8 pm[128])\n{\n"
    << registers() << " mov.b64 %map, pm; cvta.param.u64 %map, %map; setp.eq.u32 %first, %thr, 0; add.u32 %x, %smb, " << barriers << ";\n";
  for (uint32_t i = 0; i < t.stages; ++i) s << fmt::format(" @%first mbarrier.init.shared::cta.b64 [%x+{}], 1;\n", 8 * i);
  s << " @%first fence.mbarrier_init.release.cluster;\n bar.sync 0;\n"
    << fmt::format(" mul.lo.u32 %row, %cta, {0}; mul.lo.u32 %step, %ctas, {0};\n mov.u64 %t0, %clock64;\n", t.height);
  for (uint32_t i = 0; i < t.stages; ++i) s << fmt::format(" mov.u32 %slot, {};\n", i) << tma_load(tile) << " add.u32 %row, %row, %step;\n";
  // The oldest tile is waited for and its slot used again.
  s << fmt::format(
           " mov.u32 %i, 0; mov.u32 %slot, 0; mov.u32 %phase, 0;\nTILE:\n shl.b32 %bar, %slot, 3; add.u32 %bar, %bar, %x;\nWAIT:\n"
           " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %done, [%bar], %phase;\n @!%done bra WAIT;\n add.u32 %y, %i, {0}; setp.ge.u32 %p, "
           "%y, {1};\n @%p bra LAST;\n",
           t.stages, loads)
    << tma_load(tile) << " add.u32 %row, %row, %step;\nLAST:\n"
    << fmt::format(
           " add.u32 %slot, %slot, 1; setp.eq.u32 %p, %slot, {0}; @%p xor.b32 %phase, %phase, 1; @%p mov.u32 %slot, 0;\n add.u32 %i, %i, 1; "
           "setp.lt.u32 %p, %i, {1}; @%p bra TILE;\n",
           t.stages, loads)
    << " mov.u64 %t1, %clock64;\n mul.wide.u32 %o, %cta, 16; add.s64 %o, %o, %out;\n @%first st.global.u64 [%o], %t0; @%first st.global.u64 [%o+8], "
       "%t1;\n ret;\n}\n";
  const uint64_t rows = static_cast<uint64_t>(t.height) * ctas * loads;
  std::string launch = fmt::format(
      "grid = [{}, 1, 1]\nblock = [32, 1, 1]\ndynamic_smem_bytes = {}\nargs = [{{ buffer = \"out\" }}, {{ tensormap = \"m\" }}]\n"
      "[buffer.out]\ndtype = \"u64\"\nshape = [{}]\ninit = \"zeros\"\n[buffer.g]\ndtype = \"f32\"\nshape = [{}, {}]\ninit = \"zeros\"\n"
      "[tensormap.m]\nbuffer = \"g\"\nbox = [{}, {}]\nswizzle = \"none\"\nl2_promotion = \"none\"\n",
      ctas, kMostSmem, 2 * ctas, rows, t.width, t.width, t.height);
  Probe p;
  p.runs.push_back({s.str(), launch, ctas, double(loads), {}});
  p.clocks = Probe::Clocks::median;
  return p;
}

struct Ldgsts {
  uint32_t ctas_per_sm, threads, stages, bytes;
};

/// cp.async of one access a thread and stage. Latency: one copy with its wait; bandwidth in TB/s at the machine's clock.
Probe ldgsts(const Ldgsts& c, bool latency, const cfg::Machine& m) {
  const uint32_t ctas = c.ctas_per_sm * m.chip.sms, stage = c.threads * c.bytes;
  const uint64_t round = static_cast<uint64_t>(ctas) * stage;
  Probe p;
  for (const uint32_t half : {1u, 2u}) {
    const uint32_t copies = latency ? 1 : half * static_cast<uint32_t>(std::clamp<uint64_t>(kMostBytes / 2 / round, 2 * c.stages, 32));
    if (latency && half == 1) continue;
    std::ostringstream s;
    s << ptx_header(m.chip.sm) << ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(.param .u64 out, .param .u64 chase)\n{\n"
      << registers() << " ld.param.u64 %g, [chase]; cvta.to.global.u64 %g, %g;\n"
      << fmt::format(" mad.lo.u32 %x, %cta, {}, %thr; mul.wide.u32 %o, %x, {}; add.s64 %g, %g, %o; mad.lo.u32 %dst, %thr, {}, %smb;\n", c.threads,
                     c.bytes, c.bytes)
      << " mov.u64 %t0, %clock64; mov.u32 %i, 0; mov.u32 %slot, 0;\nCOPY:\n"
      << fmt::format(" mad.lo.u32 %x, %slot, {}, %dst; cp.async.c{}.shared.global [%x], [%g], {}; cp.async.commit_group; cp.async.wait_group {};\n",
                     stage, c.bytes == 16 ? "g" : "a", c.bytes, latency ? 0 : c.stages - 1)
      << fmt::format(
             " add.s64 %g, %g, {}; add.u32 %slot, %slot, 1; setp.eq.u32 %p, %slot, {}; @%p mov.u32 %slot, 0; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, "
             "{}; @%p bra COPY;\n",
             round, c.stages, copies)
      << " cp.async.wait_group 0;\n mov.u64 %t1, %clock64;\n"
      << fmt::format(
             " mad.lo.u32 %x, %cta, {}, %warp; mul.wide.u32 %o, %x, 16; add.s64 %o, %o, %out; st.global.u64 [%o], %t0; st.global.u64 [%o+8], %t1;\n "
             "ret;\n}}\n",
             c.threads / 32);
    const uint32_t pairs = ctas * c.threads / 32;
    p.runs.push_back({s.str(),
                      launch_text(ctas, c.threads, stage * c.stages, 2 * pairs, round * copies),
                      pairs,
                      latency ? 1 : round * double(copies) * m.chip.clock_mhz * 1e6 / 1e12,
                      {}});
  }
  p.clocks = latency ? Probe::Clocks::median : Probe::Clocks::kernel;
  p.rate = !latency;
  return p;
}

}  // namespace

std::optional<Probe> bulk_probe(const Reading& r, const cfg::Machine& m) {
  Tile t{0, 0, 1};
  Ldgsts c{0, 0, 1, 0};
  const char* what = r.what.c_str();
  if (r.quantity == "tma_latency" && std::sscanf(what, "%ux%u f32", &t.width, &t.height) == 2) return tma(t, true, m);
  if (r.quantity == "tma_interval" && std::sscanf(what, "%ux%u f32, %u stages", &t.width, &t.height, &t.stages) == 3) return tma(t, false, m);
  if (r.quantity == "ldgsts_latency" && std::sscanf(what, "%u x %u threads, %u B", &c.ctas_per_sm, &c.threads, &c.bytes) == 3)
    return ldgsts(c, true, m);
  if (r.quantity == "ldgsts_bandwidth" && std::sscanf(what, "%u x %u threads, %u stages, %u B", &c.ctas_per_sm, &c.threads, &c.stages, &c.bytes) == 4)
    return ldgsts(c, false, m);
  return std::nullopt;
}

}  // namespace tcsim::published
