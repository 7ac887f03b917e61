// Warp-level mma and wgmma: dependent chains for the latency, several warps with independent chains for the interval and the peak.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "isa/check.h"
#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

/// "m16n8k16.f32.f16[.b][.sp]", the name of a machine file's row; for wgmma the same with its own shapes.
struct Row {
  uint32_t m = 0, n = 0, k = 0;
  std::string d, a, b;
  std::string kind;  // of sm_120's narrow types: f8f6f4, mxf8f6f4, mxf4, mxf4nvf4
  bool sparse = false;
};

uint32_t bits_of(const std::string& type) {
  static const std::map<std::string, uint32_t> table = {{"f64", 64}, {"f32", 32}, {"s32", 32}, {"tf32", 32}, {"f16", 16}, {"bf16", 16},
                                                        {"s8", 8},   {"u8", 8},   {"e4m3", 8}, {"e5m2", 8},  {"s4", 4},   {"u4", 4},
                                                        {"b1", 1},   {"e3m2", 8}, {"e2m3", 8}, {"e2m1", 4}};
  const auto it = table.find(type);
  TC_CHECK(it != table.end(), "type {} of a reading", type);
  return it->second;
}

Row parse(const std::string& name) {
  Row r;
  std::istringstream in(name);
  std::string shape, part;
  std::getline(in, shape, '.');
  TC_CHECK(std::sscanf(shape.c_str(), "m%un%uk%u", &r.m, &r.n, &r.k) == 3, "shape {} of a reading", shape);
  std::getline(in, r.d, '.');
  std::getline(in, r.a, '.');
  r.b = r.a;
  while (std::getline(in, part, '.')) {
    if (part == "sp") r.sparse = true;
    else r.b = part;
  }
  if (r.a.find("f4") != std::string::npos) {
    r.kind = r.a;
    r.a = r.b = r.kind == "mxf8f6f4" ? "e4m3" : r.kind == "f8f6f4" ? "e3m2" : "e2m1";
  }
  return r;
}

/// Volta's m8n8k4 is one product for each of the four quad pairs of a warp.
bool quad_pairs(const Row& r) { return r.k == 4 && r.m == 8 && r.a == "f16"; }
double operations(const Row& r) { return 2.0 * r.m * r.n * r.k * (quad_pairs(r) ? 4 : 1); }

struct Registers {
  uint32_t a, b, d;
};
Registers registers(const Row& r) {
  if (quad_pairs(r)) return {2, 2, r.d == "f32" ? 8u : 4u};
  const uint32_t word = r.a == "f64" ? 64 : 32;
  return {r.m * r.k * bits_of(r.a) / 32 / word / (r.sparse ? 2 : 1), r.k * r.n * bits_of(r.b) / 32 / word, r.m * r.n * bits_of(r.d) / 32 / word};
}

std::string tuple(const char* prefix, uint32_t first, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += fmt::format("{}%{}{}", i ? ", " : "", prefix, first + i);
  return out + "}";
}

std::string mma(const Row& r, uint32_t chain, uint32_t sm) {
  const Registers n = registers(r);
  const std::string d = tuple("d", chain * n.d, n.d);
  const bool bits = r.a == "b1";
  // Block scaling: a vector of ue8m0 each for A and B, from thread and byte 0 (PTX ISA, "Block Scaling for mma.sync").
  const std::string kind = r.kind.empty() ? ""
                                          : ".kind::" + r.kind +
                                                (r.kind == "f8f6f4"     ? ""
                                                 : r.kind == "mxf8f6f4" ? ".block_scale.scale_vec::1X"
                                                                        : ".block_scale.scale_vec::2X");
  const bool scaled = r.kind.starts_with("mx");
  return fmt::format(" mma{}.sync.aligned.m{}n{}k{}.row.col{}.{}.{}.{}.{}{}{} {}, {}, {}, {}{}{};\n", r.sparse ? ".sp::ordered_metadata" : "", r.m,
                     r.n, r.k, kind, r.d, r.a, r.b, r.d, scaled ? ".ue8m0" : "", bits ? (sm < 80 ? ".xor.popc" : ".and.popc") : "", d,
                     tuple("a", 0, n.a), tuple("b", 0, n.b), d, r.sparse ? ", %meta, 0x0" : "", scaled ? ", %meta, {0, 0}, %meta, {0, 0}" : "");
}

constexpr uint32_t kChains = 4;
constexpr uint32_t kOutWords = 136, kResult = 128 * 8;  // clocks of at most 64 warps, then what keeps the results alive

/// `loops` passes of `body` between two clocks of each warp.
std::string kernel(const Row& r, uint32_t sm, uint32_t loops, const std::string& body, uint32_t chains) {
  const Registers n = registers(r);
  const char* type = r.a == "f64" ? ".b64" : ".b32";
  std::ostringstream s;
  s << ptx_header(sm) << ".visible .entry k(.param .u64 out)\n{\n"
    << fmt::format(" .reg {0} %a<{1}>, %b<{2}>, %d<{3}>;\n", type, n.a, n.b, n.d * chains)
    << " .reg .b64 %out, %t0, %t1, %o; .reg .b32 %thr, %warp, %i, %x, %y, %meta; .reg .pred %p;\n"
    << " ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; ld.global.u64 %t0, [%out]; add.s64 %out, %out, %t0; mov.u32 %thr, %tid.x; shr.u32 "
       "%warp, %thr, 5; mov.b32 %meta, 0x44444444;\n";
  for (uint32_t i = 0; i < n.a; ++i) s << fmt::format(" mov{} %a{}, 0;\n", type, i);
  for (uint32_t i = 0; i < n.b; ++i) s << fmt::format(" mov{} %b{}, 0;\n", type, i);
  for (uint32_t i = 0; i < n.d * chains; ++i) s << fmt::format(" mov{} %d{}, 0;\n", type, i);
  s << " bar.sync 0;\n mov.u64 %t0, %clock64; mov.u32 %i, 0;\nLOOP:\n"
    << body
    << fmt::format(" add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra LOOP;\n", loops)
    // Read after the results: an instruction that needs them all comes before.
    << " mov.b32 %x, 0;\n";
  for (uint32_t i = 0; i < n.d * chains; ++i)
    s << (n.d && r.a == "f64" ? fmt::format(" cvt.u32.u64 %y, %d{}; xor.b32 %x, %x, %y;\n", i) : fmt::format(" xor.b32 %x, %x, %d{};\n", i));
  s << " mov.u64 %t1, %clock64;\n mul.wide.u32 %o, %warp, 16; add.s64 %o, %o, %out;\n st.global.u64 [%o], %t0; st.global.u64 [%o+8], %t1;\n"
    << fmt::format(" st.global.u32 [%out+{}], %x;\n ret;\n}}\n", kResult);
  return s.str();
}

std::string repeated(uint32_t times, const std::string& text) {
  std::string out;
  for (uint32_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

Probe mma_latency(const std::string& row, const cfg::Machine& machine) {
  constexpr uint32_t kLoops = 16, kUnroll = 16;
  const Row r = parse(row);
  Probe p;
  for (const uint32_t loops : {kLoops, 2 * kLoops})
    p.runs.push_back({kernel(r, machine.chip.sm, loops, repeated(kUnroll, mma(r, 0, machine.chip.sm)), 1),
                      launch_text(1, 32, 0, kOutWords),
                      1,
                      double(loops) * kUnroll,
                      {}});
  return p;
}

Probe mma_interval(const std::string& row, const cfg::Machine& machine, bool peak) {
  constexpr uint32_t kLoops = 40, kRounds = 16;
  const uint32_t warps = 2 * machine.limits.subcores;
  const Row r = parse(row);
  std::string body;
  for (uint32_t c = 0; c < kChains; ++c) body += mma(r, c, machine.chip.sm);
  const std::string text = kernel(r, machine.chip.sm, kLoops, repeated(kRounds, body), kChains);
  const double each = double(kRounds) * kChains * kLoops;
  Probe p;
  p.runs.push_back(
      {text, launch_text(1, 32 * warps, 0, kOutWords), warps, each * (peak ? warps * operations(r) : warps / machine.limits.subcores), {}});
  p.rate = peak;
  return p;
}

namespace {

/// "SS m64n256k16.f32.f16": layout, shape and types of a wgmma.
std::string wgmma(const Row& r, bool a_in_registers) {
  const uint32_t words = r.m * r.n * bits_of(r.d) / 32 / 128;
  const bool bits = r.a == "b1", integer = r.d == "s32", halves = bits_of(r.a) == 16;
  std::string tail = integer ? "" : ", 1, 1";
  if (halves) tail += a_in_registers ? ", 0" : ", 0, 0";
  return fmt::format(" wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{}{} {}, {}, %db{}, %yes{};\n", r.sparse ? ".sp" : "", r.n, r.k, r.d, r.a, r.b,
                     bits ? ".and.popc" : "", tuple("d", 0, words), a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%da", r.sparse ? ", %meta, 0" : "",
                     tail);
}

}  // namespace

Probe wgmma_interval(const std::string& text, const cfg::Machine& machine, bool peak) {
  constexpr uint32_t kLoops = 24, kUnroll = 16, kBytes = 65536;
  const bool a_in_registers = text.starts_with("RS ");
  const Row r = parse(text.substr(3));
  const uint32_t words = r.m * r.n * bits_of(r.d) / 32 / 128;
  // 128-byte swizzle, K-major: A at 0, B at 32 KiB of shared memory (PTX ISA, "Matrix Descriptor").
  constexpr uint64_t kHigh = 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
  std::ostringstream s;
  s << ptx_header(machine.chip.sm) << ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(.param .u64 out) .maxntid 128, 1, 1\n{\n"
    << fmt::format(" .reg .b32 %d<{}>, %a<4>;\n", words)
    << " .reg .b64 %out, %t0, %t1, %da, %db, %o; .reg .b32 %thr, %warp, %smb, %i, %x, %meta; .reg .pred %p, %yes;\n"
    << " ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; ld.global.u64 %t0, [%out]; add.s64 %out, %out, %t0; mov.u32 %thr, %tid.x; shr.u32 "
       "%warp, %thr, 5; mov.u32 %smb, smem; mov.b32 %meta, 0x44444444; setp.eq.u32 %yes, %smb, %smb;\n"
    << " shr.u32 %x, %smb, 4; cvt.u64.u32 %da, %x; add.u32 %x, %smb, 32768; shr.u32 %x, %x, 4; cvt.u64.u32 %db, %x;\n"
    << fmt::format(" mov.b64 %o, {}; or.b64 %da, %da, %o; or.b64 %db, %db, %o;\n", kHigh);
  for (uint32_t i = 0; i < words; ++i) s << fmt::format(" mov.b32 %d{}, 0;\n", i);
  for (uint32_t i = 0; i < 4; ++i) s << fmt::format(" mov.b32 %a{}, 0;\n", i);
  s << fmt::format(
           " mov.u32 %i, 0; mov.u32 %x, 0;\nFILL:\n mad.lo.u32 %meta, %thr, 16, %smb; add.u32 %meta, %meta, %i; st.shared.v4.b32 [%meta], {{%x, %x, "
           "%x, %x}}; add.u32 %i, %i, 2048; setp.lt.u32 %p, %i, {}; @%p bra FILL;\n",
           kBytes)
    << " mov.b32 %meta, 0x44444444;\n fence.proxy.async.shared::cta;\n bar.sync 0;\n mov.u64 %t0, %clock64; mov.u32 %i, 0;\n "
       "wgmma.fence.sync.aligned;\nLOOP:\n"
    << repeated(kUnroll, wgmma(r, a_in_registers)) << fmt::format(" add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra LOOP;\n", kLoops)
    << " wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;\n mov.u64 %t1, %clock64;\n mul.wide.u32 %o, %warp, 16; add.s64 %o, %o, "
       "%out; st.global.u64 [%o], %t0; st.global.u64 [%o+8], %t1;\n mov.b32 %x, 0;\n";
  for (uint32_t i = 0; i < words; ++i) s << fmt::format(" xor.b32 %x, %x, %d{};\n", i);
  s << fmt::format(" st.global.u32 [%out+{}], %x;\n ret;\n}}\n", kResult);
  Probe p;
  p.runs.push_back({s.str(), launch_text(1, 128, kBytes, kOutWords), 4, double(kLoops) * kUnroll * (peak ? operations(r) : 1), {}});
  p.rate = peak;
  return p;
}

}  // namespace tcsim::published
