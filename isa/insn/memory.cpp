// ld, ldu, st, prefetch, cache control and fences (PTX ISA, "Data Movement and Conversion Instructions" and "Parallel
// Synchronization and Communication Instructions: membar/fence"). The atomics are in atomic.cpp.
#include <fmt/format.h>

#include "isa/exec/shared_watch.h"
#include "isa/insn/access.h"
#include "isa/insn/atomic.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

// Meaning of Inst::flags in this chapter.
constexpr uint32_t kSignExtend = 1, kBypassL1 = 2;

/// Value of B bytes (1, 2, 4, 8) to a register of 32 bits (16-bit ones keep their upper half zero) or 64 bits.
template <int B>
void load_element(ExecContext& ctx, const Operand& d, const Located& at, uint32_t offset, bool sign) {
  if (d.bit_width == 64 || B == 8) {
    uint64_t* r = ctx.reg<uint64_t>(d.slot);
    const int shift = 64 - 8 * B;
    each_lane(at.mask, [&](int l) {
      uint64_t raw = 0;
      std::memcpy(&raw, at.at[l] + offset, B);
      r[l] = sign ? static_cast<uint64_t>(static_cast<int64_t>(raw << shift) >> shift) : raw;
    });
    return;
  }
  if constexpr (B <= 4) {
    uint32_t* r = ctx.reg<uint32_t>(d.slot);
    if (B == 4 && at.mask == kFullMask && d.bit_width == 32) {  // by far the commonest
      for (int l = 0; l < kLanes; ++l) std::memcpy(r + l, at.at[l] + offset, 4);
      return;
    }
    const int shift = 32 - 8 * B;
    const uint32_t keep = d.bit_width < 32 ? (1u << d.bit_width) - 1 : ~0u;
    each_lane(at.mask, [&](int l) {
      uint32_t raw = 0;
      std::memcpy(&raw, at.at[l] + offset, B);
      r[l] = (sign && B < 4 ? static_cast<uint32_t>(static_cast<int32_t>(raw << shift) >> shift) : raw) & keep;
    });
  }
}

template <int B>
void run_ld(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto dst = inst.group(0);
  const auto total = static_cast<uint32_t>(B * dst.size());
  for_spaces(ctx, inst.operand(1), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    Located at;
    if (!locate(ctx, inst, space, address, total, total, lanes, AccessKind::load, at)) return;
    ctx.fx.access.cache_global = (inst.flags & kBypassL1) != 0;
    if (ctx.addresses_only) return;
    check_read(ctx, at);
    uint32_t offset = 0;
    for (const Operand& d : dst) {
      if (d.kind == Operand::Kind::reg) {
        if constexpr (B == 16) {
          uint8_t* r = ctx.reg<uint8_t>(d.slot);
          each_lane(lanes, [&](int l) { std::memcpy(r + l * 16, at.at[l] + offset, 16); });
        } else {
          load_element<B>(ctx, d, at, offset, (inst.flags & kSignExtend) != 0);
        }
      }
      offset += B;
    }
  });
}

template <int B>
void run_st(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const auto src = inst.group(1);
  const auto total = static_cast<uint32_t>(B * src.size());
  for_spaces(ctx, inst.operand(0), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    if (space == Space::param || space == Space::constant) {
      ctx.fault("illegal-instruction", std::countr_zero(lanes), address[std::countr_zero(lanes)],
                fmt::format("store to read-only {} memory", name(space)));
      return;
    }
    Located at;
    if (!locate(ctx, inst, space, address, total, total, lanes, AccessKind::store, at)) return;
    note_write(ctx, inst, at);
    if (ctx.addresses_only || ctx.data_unknown) return;
    uint32_t offset = 0;
    for (const Operand& s : src) {
      const int width = s.bit_width <= 32 ? 4 : s.bit_width / 8;
      const auto* r = reinterpret_cast<const uint8_t*>(s.kind == Operand::Kind::constant ? s.lanes : ctx.reg<uint8_t>(s.slot));
      each_lane(lanes, [&](int l) { std::memcpy(at.at[l] + offset, r + l * width, B); });
      offset += B;
    }
  });
}

ExecFn ld_exec(int bytes) {
  switch (bytes) {
    case 1: return &run_ld<1>;
    case 2: return &run_ld<2>;
    case 4: return &run_ld<4>;
    case 8: return &run_ld<8>;
    default: return &run_ld<16>;
  }
}
ExecFn st_exec(int bytes) {
  switch (bytes) {
    case 1: return &run_st<1>;
    case 2: return &run_st<2>;
    case 4: return &run_st<4>;
    case 8: return &run_st<8>;
    default: return &run_st<16>;
  }
}

std::string check_vector(const Inst& inst, int group, const Decoded& d, int bytes) {
  const std::string_view vec = d.value("vec");
  const size_t count = vec.empty() ? 1 : static_cast<size_t>(vec[1] - '0');
  if (inst.group(group).size() != count) return fmt::format("operand {} has {} elements, expected {}", group + 1, inst.group(group).size(), count);
  const size_t most = d.module && d.module->sm < 100 ? 16 : 32;
  if (static_cast<size_t>(bytes) * count > most)
    return fmt::format(".{} of {} bytes is {} bytes, expected at most {} on sm_{}", vec, bytes, bytes * static_cast<int>(count), most,
                       d.module ? d.module->sm : 0);
  return {};
}

std::string bind_ld(Inst& inst, const Decoded& d) {
  inst.op = Op::ld;
  inst.type = d.type();
  const int width = bits(inst.type);
  if (auto e = expect_address(inst, 1); !e.empty()) return e;
  if (auto e = check_vector(inst, 0, d, width / 8); !e.empty()) return e;
  if (auto e = expect_group(inst, 0, d, width, true, true); !e.empty()) return e;
  inst.space = space_of(inst, d, 1);
  const std::string_view cop = d.value("cop");
  const bool bypass = cop == "cg" || cop == "cv" || d.has("volatile") || d.has("L1::no_allocate") ||
                      ((d.has("relaxed") || d.has("acquire")) && !d.has("cta")) || d.has("mmio");
  inst.flags = (is_signed(inst.type) ? kSignExtend : 0) | (bypass ? kBypassL1 : 0);
  inst.exec = ld_exec(width / 8);
  switch (inst.space) {
    case Space::param:
    case Space::constant: inst.timing = TimingClass::ldc; break;
    case Space::shared:
    case Space::shared_cluster: inst.timing = TimingClass::lds; break;
    case Space::local: inst.timing = TimingClass::ldl; break;
    default: inst.timing = TimingClass::ldg; break;
  }
  return {};
}

std::string bind_ldu(Inst& inst, const Decoded& d) {
  std::string error = bind_ld(inst, d);
  inst.op = Op::ldu;
  return error;
}

std::string bind_st(Inst& inst, const Decoded& d) {
  inst.op = Op::st;
  inst.type = d.type();
  const int width = bits(inst.type);
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  if (auto e = check_vector(inst, 1, d, width / 8); !e.empty()) return e;
  if (auto e = expect_group(inst, 1, d, width, true, false); !e.empty()) return e;
  inst.space = space_of(inst, d, 0);
  if (inst.space == Space::param || inst.space == Space::constant) return fmt::format(".{} cannot be written by a kernel", name(inst.space));
  inst.exec = st_exec(width / 8);
  switch (inst.space) {
    case Space::shared:
    case Space::shared_cluster: inst.timing = TimingClass::sts; break;
    case Space::local: inst.timing = TimingClass::stl; break;
    default: inst.timing = TimingClass::stg; break;
  }
  return {};
}

// ---- hints and fences: no effect on values ----

void run_nothing(ExecContext&, const Inst&, uint32_t) {}

/// Prefetch of an unmapped address is not a fault.
void run_prefetch(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  Access& access = ctx.fx.access;
  lane_addresses(ctx, inst.operand(0), mask, access.address.data());
  access.kind = AccessKind::prefetch;
  access.space = Space::global;
  access.bytes = 1;
  access.mask = mask;
  access.cache_global = (inst.flags & kBypassL1) != 0;
}

std::string bind_prefetch(Inst& inst, const Decoded& d) {
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  inst.op = Op::prefetch;
  inst.space = space_of(inst, d, 0);
  const bool global = inst.space == Space::global || inst.space == Space::generic;
  inst.exec = global && !d.has("tensormap") ? &run_prefetch : &run_nothing;
  inst.flags = d.has("L1") ? 0 : kBypassL1;
  inst.timing = TimingClass::ldg;
  return {};
}

std::string bind_hint(Inst& inst, const Decoded&) {
  if (auto e = expect_address(inst, 0); !e.empty()) return e;
  inst.op = inst.def ? inst.def->op : Op::discard;
  inst.exec = &run_nothing;
  inst.timing = TimingClass::nop;
  return {};
}

/// A cache policy is a hint: any value does (PTX ISA, "createpolicy": the value is opaque).
void run_createpolicy(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint64_t* r = ctx.reg<uint64_t>(inst.operand(0).slot);
  each_lane(mask, [&](int l) { r[l] = 0; });
}

std::string bind_createpolicy(Inst& inst, const Decoded& d) {
  if (auto e = expect_group(inst, 0, d, 64, false, true); !e.empty()) return e;
  inst.op = Op::createpolicy;
  inst.exec = inst.operand(0).kind == Operand::Kind::sink ? &run_nothing : &run_createpolicy;
  inst.timing = TimingClass::alu;
  return {};
}

/// fence.proxy.async: what was written to shared memory becomes visible to the asynchronous proxy.
void run_proxy_fence(ExecContext& ctx, const Inst&, uint32_t) {
  if (SharedWatch* watch = ctx.shared->watch()) watch->fence(ctx.warp_index);
  ctx.fx.issued |= Effects::kProxyFence;
}

/// Lanes and warps execute in program order here, so other fences order nothing further; they take time.
std::string bind_fence(Inst& inst, const Decoded& d) {
  inst.op = Op::fence;
  inst.exec = &run_nothing;
  if (d.value("proxykind").starts_with("async")) {
    inst.op = Op::fence_proxy;
    inst.timing = TimingClass::fence_proxy;
    if (d.value("proxykind") != "async.global") inst.exec = &run_proxy_fence;
    return {};
  }
  inst.timing =
      d.has("cta") || d.has("mbarrier_init") || d.has("proxy") || d.value("proxykind") != "" ? TimingClass::membar_cta : TimingClass::membar_gl;
  return {};
}

std::string bind_membar(Inst& inst, const Decoded& d) {
  inst.op = Op::membar;
  inst.exec = &run_nothing;
  inst.timing = d.value("level") == "cta" || d.has("proxy") ? TimingClass::membar_cta : TimingClass::membar_gl;
  return {};
}

constexpr std::string_view kLd =
    "ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache-policy};\n\n"
    "ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, "
    "cache-policy};\n\n"
    "ld.volatile{.ss}{.level::prefetch_size}{.vec}.type d, [a];\n\n"
    "ld.relaxed.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, "
    "cache-policy};\n\n"
    "ld.acquire.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, "
    "cache-policy};\n\n"
    "ld{.ss}.acquire.scope{.vec}.type d, [a];\n\n"
    "ld{.ss}.relaxed.scope{.vec}.type d, [a];\n\n"
    "ld.mmio.relaxed.sys{.global}.type d, [a];\n\n"
    "ld.global{.cop}.nc{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache-policy};\n\n"
    "ld.global.nc{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, "
    "cache-policy};"
    "  .ss = { .const, .global, .local, .param, .param::entry, .param::func, .shared, .shared::cta, .shared::cluster };"
    "  .cop = { .ca, .cg, .cs, .lu, .cv };"
    "  .level1::eviction_priority = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };"
    "  .level2::eviction_priority = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };"
    "  .level::cache_hint = { .L2::cache_hint };"
    "  .level::prefetch_size = { .L2::64B, .L2::128B, .L2::256B };"
    "  .scope = { .cta, .cluster, .gpu, .sys };"
    "  .vec = { .v2, .v4 };"
    "  .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };";
constexpr std::string_view kSt =
    "st{.weak}{.ss}{.cop}{.level::cache_hint}{.vec}.type [a], b{, cache-policy};\n\n"
    "st{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.vec}.type [a], b{, cache-policy};\n\n"
    "st.volatile{.ss}{.vec}.type [a], b;\n\n"
    "st.relaxed.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.vec}.type [a], b{, cache-policy};\n\n"
    "st.release.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.vec}.type [a], b{, cache-policy};\n\n"
    "st{.ss}.release.scope{.vec}.type [a], b;\n\n"
    "st{.ss}.relaxed.scope{.vec}.type [a], b;\n\n"
    "st.mmio.relaxed.sys{.global}.type [a], b;"
    "  .ss = { .global, .local, .param, .param::func, .shared, .shared::cta, .shared::cluster };"
    "  .cop = { .wb, .cg, .cs, .wt };"
    "  .level1::eviction_priority = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };"
    "  .level2::eviction_priority = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };"
    "  .level::cache_hint = { .L2::cache_hint };"
    "  .scope = { .cta, .cluster, .gpu, .sys };"
    "  .vec = { .v2, .v4 };"
    "  .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };";

/// The same forms with .v8 (32 bytes a lane), which came later.
std::string with_v8(std::string_view forms) {
  std::string text(forms);
  const auto replace = [&text](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  };
  if (const size_t mmio = text.find("\n\n" + text.substr(0, 2) + ".mmio"); mmio != std::string::npos)  // has no vectors
    text.erase(mmio, text.find(';', mmio) + 1 - mmio);
  replace("{.vec}", ".vec");
  replace(".vec = { .v2, .v4 }", ".vec = { .v8 }");
  return text;
}

}  // namespace

std::span<const InstDef> memory_instructions() {
  static const std::string ld_v8 = with_v8(kLd), st_v8 = with_v8(kSt);
  static const std::vector<InstDef> table = [] {
    std::vector<InstDef> t = {
        {.base = "ld",
         .syntax = kLd,
         .op = Op::ld,
         .bind = &bind_ld,
         .since = {1, 0, 0},
         .manual = "Data Movement: ld",
         .doc = "load; narrower values are extended to the register"},
        {.base = "ld",
         .syntax = ld_v8,
         .op = Op::ld,
         .bind = &bind_ld,
         .since = {8, 8, 100},
         .manual = "Data Movement: ld",
         .doc = "load of 32 bytes a lane"},
        {.base = "st",
         .syntax = st_v8,
         .op = Op::st,
         .bind = &bind_st,
         .since = {8, 8, 100},
         .manual = "Data Movement: st",
         .doc = "store of 32 bytes a lane"},
        {.base = "ldu",
         .syntax = "ldu{.ss}.type d, [a];\n\nldu{.ss}.vec.type d, [a];  .ss = { .global };  .vec = { .v2, .v4 };"
                   "  .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };",
         .op = Op::ldu,
         .bind = &bind_ldu,
         .since = {2, 0, 0},
         .manual = "Data Movement: ldu",
         .doc = "load of read-only data, the same in all lanes"},
        {.base = "st", .syntax = kSt, .op = Op::st, .bind = &bind_st, .since = {1, 0, 0}, .manual = "Data Movement: st", .doc = "store"},
        {.base = "prefetch",
         .syntax = "prefetch{.ss}.level [a];\n\nprefetch.global.level::eviction_priority [a];\n\nprefetch{.tensormap_space}.tensormap [a];"
                   "  .ss = { .global, .local };  .level = { .L1, .L2 };"
                   "  .level::eviction_priority = { .L2::evict_last, .L2::evict_normal };  .tensormap_space = { .const, .param };",
         .op = Op::prefetch,
         .bind = &bind_prefetch,
         .since = {2, 0, 0},
         .manual = "Data Movement: prefetch",
         .doc = "bring a line into a cache"},
        {.base = "prefetchu",
         .syntax = "prefetchu.L1 [a];",
         .op = Op::prefetchu,
         .bind = &bind_prefetch,
         .since = {2, 0, 0},
         .manual = "Data Movement: prefetchu",
         .doc = "bring a line into the uniform cache"},
        {.base = "applypriority",
         .syntax = "applypriority{.ss}.level::eviction_priority [a], size;  .ss = { .global };"
                   "  .level::eviction_priority = { .L2::evict_normal };",
         .op = Op::applypriority,
         .bind = &bind_hint,
         .since = {7, 4, 80},
         .manual = "Data Movement: applypriority",
         .doc = "change the eviction priority of a line"},
        {.base = "discard",
         .syntax = "discard{.ss}.level [a], size;  .ss = { .global };  .level = { .L2 };",
         .op = Op::discard,
         .bind = &bind_hint,
         .since = {7, 4, 80},
         .manual = "Data Movement: discard",
         .doc = "drop a line without writing it back"},
        {.base = "createpolicy",
         .syntax =
             "createpolicy.range{.global}.level::primary_priority{.level::secondary_priority}.b64 cache-policy, [a], primary-size, total-size;\n\n"
             "createpolicy.fractional.level::primary_priority{.level::secondary_priority}.b64 cache-policy{, fraction};\n\n"
             "createpolicy.cvt.L2.b64 cache-policy, access-property;"
             "  .level::primary_priority = { .L2::evict_last, .L2::evict_normal, .L2::evict_first, .L2::evict_unchanged };"
             "  .level::secondary_priority = { .L2::evict_first, .L2::evict_unchanged };",
         .op = Op::createpolicy,
         .bind = &bind_createpolicy,
         .since = {7, 4, 80},
         .manual = "Data Movement: createpolicy",
         .doc = "make a cache eviction policy (a hint)"},
        {.base = "membar",
         .syntax = "membar.level;\n\nmembar.proxy.proxykind;  .level = { .cta, .gl, .sys };  .proxykind = { .alias };",
         .op = Op::membar,
         .bind = &bind_membar,
         .since = {1, 4, 0},
         .manual = "Synchronization: membar",
         .doc = "memory barrier"},
        {.base = "fence",
         .syntax =
             "fence{.sem}.scope;\n\nfence.acquire.sync_restrict::shared::cluster.cluster;\n\nfence.release.sync_restrict::shared::cta.cluster;\n\n"
             "fence.op_restrict.release.cluster;\n\nfence.proxy.proxykind;\n\nfence.proxy.to_proxykind::from_proxykind.release.scope;\n\n"
             "fence.proxy.to_proxykind::from_proxykind.acquire.scope [addr], size;"
             "  .sem = { .sc, .acq_rel, .acquire, .release };  .scope = { .cta, .cluster, .gpu, .sys };  .op_restrict = { .mbarrier_init };"
             "  .proxykind = { .alias, .async, .async.global, .async.shared::cta, .async.shared::cluster };"
             "  .to_proxykind::from_proxykind = { .tensormap::generic };",
         .op = Op::fence,
         .bind = &bind_fence,
         .since = {6, 0, 70},
         .manual = "Synchronization: fence",
         .doc = "memory fence"},
    };
    for (const InstDef& def : atomic_instructions()) t.push_back(def);
    return t;
  }();
  return table;
}

}  // namespace tcsim::isa
