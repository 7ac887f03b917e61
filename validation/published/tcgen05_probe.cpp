// tcgen05.mma as the SemiAnalysis programs umma_throughput and umma_latency run it: one thread issues, all wait on an mbarrier.
#include <fmt/format.h>

#include <bit>
#include <sstream>

#include "validation/published/probe.h"

namespace tcsim::published {
namespace {

constexpr uint32_t kA = 1024, kB = kA + 8192;  // bytes in shared memory: at most 128 rows of A and 256 of B, 32 bytes each
constexpr uint32_t kSmem = kB + 8192;
constexpr uint32_t kUnroll = 16;

struct Format {
  const char *name, *kind;
  uint32_t code;    // of A and B in the instruction descriptor (PTX ISA, "Instruction descriptor")
  uint32_t d_code;  // of D: 1 f32, 2 s32
  uint32_t k;
  bool scaled = false;
};
// The 4-bit rows of the tables run the kinds of 8-bit types, whose K is 32.
constexpr Format kFormats[] = {
    {"BF16", "f16", 1, 1, 16},
    {"TF32", "tf32", 2, 1, 8},
    {"E4M3", "f8f6f4", 0, 1, 32},
    {"S8", "i8", 1, 2, 32},
    {"F4", "f8f6f4", 5, 1, 32},
    {"MXF8", "mxf8f6f4.block_scale", 0, 1, 32, true},
    {"MXF4", "mxf8f6f4.block_scale", 5, 1, 32, true},
    {"MXF4K64", "mxf4.block_scale.scale_vec::2X", 1, 1, 64, true},
};

const Format* format_of(const std::string& name) {
  for (const Format& f : kFormats)
    if (name == f.name) return &f;
  return nullptr;
}

uint32_t instruction_descriptor(const Tcgen05Case& c, const Format& f) {
  const uint32_t types = f.code << 7 | f.code << 10 | (c.n >> 3) << 17;
  if (f.scaled) return types | 1u << 23 | (c.m >> 7) << 27;  // scale factors ue8m0
  return types | f.d_code << 4 | (c.m >> 4) << 24;
}

/// PTX ISA, "Shared memory descriptor": K-major, no swizzle, 8 rows of 16 bytes a core matrix.
uint64_t shared_descriptor(uint32_t rows) {
  const uint64_t leading = rows * 16, stride = 128;
  return (leading >> 4) << 16 | (stride >> 4) << 32 | 1ull << 46;
}

/// Columns of Tensor Memory: D, then A, then the scale factors of A and of B.
uint32_t a_column(const Tcgen05Case& c) { return c.n; }
uint32_t scale_column(const Tcgen05Case& c) { return c.n + 8; }
uint32_t columns(const Tcgen05Case& c) { return std::bit_ceil(c.n + 8 + 16); }

std::string mma(const Tcgen05Case& c, const Format& f, const char* predicate) {
  const std::string scale = f.scaled ? ", [%sfa], [%sfb]" : "";
  return fmt::format(" tcgen05.mma.cta_group::{}.kind::{} [%d], {}, %bd, %idesc{}, {};\n", c.cta_group, f.kind, c.a_in_tensor_memory ? "[%a]" : "%ad",
                     scale, predicate);
}

std::string barrier(const Tcgen05Case& c) {
  return c.cta_group == 2 ? " barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n" : " bar.sync 0;\n";
}

std::string wait(const char* label) {
  return fmt::format(
      "{0}:\n mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %done, [%mbar], %phase;\n @!%done bra {0};\n xor.b32 %phase, %phase, 1;\n", label);
}

/// Shared memory and Tensor Memory filled, descriptors and the mbarrier ready; %leader: the thread that issues.
std::string set_up(const Tcgen05Case& c, const Format& f) {
  std::ostringstream s;
  s << ptx_header(100) << ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(.param .u64 out) .maxntid 128, 1, 1\n{\n"
    << " .reg .b64 %out, %t0, %t1, %ad, %bd, %x; .reg .b32 %thr, %warp, %smb, %mbar, %base, %d, %a, %sfa, %sfb, %idesc, %phase, %i, %j, %r, %rank, "
       "%z;\n"
    << " .reg .b16 %mask; .reg .pred %leader, %first, %p, %done, %yes, %no;\n"
    << " ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; ld.global.u64 %t0, [%out]; add.s64 %out, %out, %t0; mov.u32 %thr, %tid.x; shr.u32 "
       "%warp, %thr, 5; mov.u32 %smb, smem; mov.u32 %mbar, %smb;\n"
    << " mov.u32 %rank, %cluster_ctarank; or.b32 %r, %rank, %thr; setp.eq.u32 %leader, %r, 0; setp.eq.u32 %first, %thr, 0; setp.eq.u32 %yes, %smb, "
       "%smb; setp.ne.u32 %no, %smb, %smb;\n"
    << " mov.u32 %z, 0; mov.u32 %phase, 0; mov.u16 %mask, " << (c.cta_group == 2 ? 3 : 1) << ";\n"
    << " shl.b32 %i, %thr, 4; add.u32 %i, %i, %smb;\n";
  for (uint32_t at = kA; at < kSmem; at += 2048) s << fmt::format(" st.shared.v4.b32 [%i+{}], {{%z, %z, %z, %z}};\n", at);
  s << " fence.proxy.async.shared::cta;\n @%first mbarrier.init.shared::cta.b64 [%mbar], 1;\n @%first fence.mbarrier_init.release.cluster;\n"
    << " setp.ne.u32 %p, %warp, 0;\n @%p bra ALLOCATED;\n add.u32 %r, %smb, 16;\n"
    << fmt::format(" tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%r], {};\nALLOCATED:\n", c.cta_group, columns(c))
    << " tcgen05.fence::before_thread_sync;\n"
    << barrier(c) << " tcgen05.fence::after_thread_sync;\n"
    << " ld.shared.u32 %base, [%smb+16]; mov.u32 %d, %base; add.u32 %a, %base, " << a_column(c) << "; add.u32 %sfa, %base, " << scale_column(c)
    << "; add.u32 %sfb, %sfa, 8;\n"
    << " shl.b32 %i, %warp, 21; add.u32 %r, %a, %i;\n tcgen05.st.sync.aligned.32x32b.x8.b32 [%r], {%z, %z, %z, %z, %z, %z, %z, %z};\n"
    << " add.u32 %r, %sfa, %i;\n tcgen05.st.sync.aligned.32x32b.x16.b32 [%r], {%z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z, %z};\n"
    << " tcgen05.wait::st.sync.aligned;\n tcgen05.fence::before_thread_sync;\n"
    << barrier(c) << " tcgen05.fence::after_thread_sync;\n"
    << fmt::format(" add.u32 %r, %smb, {}; shr.u32 %r, %r, 4; cvt.u64.u32 %x, %r; mov.b64 %ad, {}; or.b64 %ad, %ad, %x;\n", kA,
                   shared_descriptor(c.m / c.cta_group))
    << fmt::format(" add.u32 %r, %smb, {}; shr.u32 %r, %r, 4; cvt.u64.u32 %x, %r; mov.b64 %bd, {}; or.b64 %bd, %bd, %x;\n", kB,
                   shared_descriptor(c.n / c.cta_group))
    << fmt::format(" mov.u32 %idesc, {};\n", instruction_descriptor(c, f));
  return s.str();
}

std::string commit(const Tcgen05Case& c) {
  return fmt::format(" tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%mbar], %mask;\n", c.cta_group);
}

std::string tear_down(const Tcgen05Case& c) {
  return barrier(c) +
         fmt::format(" setp.ne.u32 %p, %warp, 0;\n @%p bra FREED;\n tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %base, {};\nFREED:\n ret;\n}}\n",
                     c.cta_group, columns(c));
}

std::string launch(const Tcgen05Case& c, uint32_t pairs) { return launch_text(c.cta_group, 128, kSmem, pairs * 2, 0, c.cta_group); }

}  // namespace

std::optional<Tcgen05Case> parse_tcgen05_case(const std::string& text) {
  Tcgen05Case c;
  std::istringstream in(text);
  std::string layout, group, shape;
  in >> c.format >> layout >> group >> shape;
  const size_t n = shape.find('n');
  if (!in || !format_of(c.format) || (layout != "SS" && layout != "TS") || n == std::string::npos || shape[0] != 'm') return std::nullopt;
  if (group != "cta_group::1" && group != "cta_group::2") return std::nullopt;
  c.a_in_tensor_memory = layout == "TS";
  c.cta_group = group.back() - '0';
  c.m = std::stoul(shape.substr(1, n - 1));
  c.n = std::stoul(shape.substr(n + 1));
  if (std::string by; in >> by) {
    if (by != "x" || !(in >> c.depth) || c.depth % kUnroll != 0) return std::nullopt;
  }
  return c;
}

Probe tcgen05_interval(const Tcgen05Case& c, bool peak) {
  constexpr uint32_t kBatches = 3;
  const Format& f = *format_of(c.format);
  std::ostringstream s;
  s << set_up(c, f) << " mov.u32 %i, 0; mov.u64 %t0, %clock64;\nBATCH:\n @!%leader bra ISSUED;\n mov.u32 %j, 0;\nMORE:\n setp.ne.u32 %p, %j, 0;\n"
    << mma(c, f, "%p");
  for (uint32_t u = 1; u < kUnroll; ++u) s << mma(c, f, "%yes");
  s << fmt::format(" add.u32 %j, %j, 1; setp.lt.u32 %p, %j, {}; @%p bra MORE;\n", c.depth / kUnroll) << commit(c) << "ISSUED:\n"
    << wait("WAIT") << fmt::format(" add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra BATCH;\n", kBatches)
    << " mov.u64 %t1, %clock64;\n @%leader st.global.u64 [%out], %t0; @%leader st.global.u64 [%out+8], %t1;\n"
    << tear_down(c);
  const double operations = 2.0 * c.m * c.n * f.k / c.cta_group;
  Probe p;
  p.runs.push_back({s.str(), launch(c, 1), 1, static_cast<double>(kBatches) * c.depth * (peak ? operations : 1), {}});
  p.rate = peak;
  return p;
}

Probe tcgen05_latency(const Tcgen05Case& c) {
  constexpr uint32_t kSamples = 9;
  const Format& f = *format_of(c.format);
  std::ostringstream s;
  // The first operation gives D its first value; the samples after it add to D.
  s << set_up(c, f) << " @!%leader bra FIRST;\n"
    << mma(c, f, "%no") << commit(c) << "FIRST:\n"
    << wait("WAIT0") << " mov.u32 %i, 0;\nSAMPLE:\n mov.u64 %t0, %clock64;\n @!%leader bra ISSUED;\n"
    << mma(c, f, "%yes") << commit(c) << "ISSUED:\n"
    << wait("WAIT") << " mov.u64 %t1, %clock64;\n"
    << " mul.wide.u32 %x, %i, 16; add.s64 %x, %x, %out;\n @%leader st.global.u64 [%x], %t0; @%leader st.global.u64 [%x+8], %t1;\n"
    << fmt::format(" add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {}; @%p bra SAMPLE;\n", kSamples) << tear_down(c);
  Probe p;
  p.runs.push_back({s.str(), launch(c, kSamples), kSamples, 1, {}});
  p.clocks = Probe::Clocks::median;
  return p;
}

}  // namespace tcsim::published
