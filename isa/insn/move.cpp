// mov, prmt, cvta, isspacep and the warp exchanges shfl, vote, match, redux, activemask, elect (PTX ISA, "Data
// Movement and Conversion Instructions" and "Parallel Synchronization and Communication Instructions").
#include <fmt/format.h>

#include <algorithm>

#include "isa/insn/access.h"
#include "isa/insn/exchange.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

// ---- mov ----

void run_mov32(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const uint32_t* a = ctx.src<uint32_t>(inst.operand(1));
  if (mask == kFullMask) {
    std::memmove(d, a, 4 * kLanes);
  } else {
    for (int l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1) ? a[l] : d[l];
  }
}

void run_mov64(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint64_t* d = ctx.reg<uint64_t>(inst.operand(0).slot);
  const uint64_t* a = ctx.src<uint64_t>(inst.operand(1));
  if (mask == kFullMask) {
    std::memmove(d, a, 8 * kLanes);
  } else {
    each_lane(mask, [&](int l) { d[l] = a[l]; });
  }
}

/// The address of a shared variable carries the CTA's rank in the cluster (isa/exec/shared_address.h).
template <class T>
void run_mov_shared(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  T* d = ctx.reg<T>(inst.operand(0).slot);
  const T value = ctx.src<T>(inst.operand(1))[0] | T{ctx.cluster_rank} << SharedAddress::kRankShift;
  each_lane(mask, [&](int l) { d[l] = value; });
}

void run_mov128(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint8_t* d = ctx.reg<uint8_t>(inst.operand(0).slot);
  const uint8_t* a = ctx.src<uint8_t>(inst.operand(1));
  each_lane(mask, [&](int l) { std::memmove(d + 16 * l, a + 16 * l, 16); });
}

void run_mov_pred(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const Operand& a = inst.operand(1);
  const uint32_t value = a.kind == Operand::Kind::pred ? ctx.pred(a) : a.value ? kFullMask : 0;
  ctx.set_pred(inst.operand(0).slot, value, mask);
}

/// Bytes of one lane of an operand, in the register file or in the lanes of an immediate.
int lane_stride(const Operand& op) { return op.bit_width <= 32 ? 4 : op.bit_width / 8; }

/// Vector pack and unpack: the bits of the source elements, concatenated, are those of the destination elements. aux holds
/// the bytes of one element on each side: d in bits 0..7, a in bits 8..15.
void run_mov_vector(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const int d_bytes = inst.aux & 0xff, a_bytes = inst.aux >> 8 & 0xff;
  const auto dst = inst.group(0), src = inst.group(1);
  alignas(16) uint8_t value[kLanes][32];
  int offset = 0;
  for (const Operand& a : src) {
    if (a.kind != Operand::Kind::sink) {
      const uint8_t* from = a.kind == Operand::Kind::constant ? static_cast<const uint8_t*>(a.lanes) : ctx.reg<uint8_t>(a.slot);
      const int stride = lane_stride(a);
      each_lane(mask, [&](int l) { std::memcpy(value[l] + offset, from + l * stride, static_cast<size_t>(a_bytes)); });
    }
    offset += a_bytes;
  }
  offset = 0;
  for (const Operand& d : dst) {
    if (d.kind == Operand::Kind::reg) {
      uint8_t* to = ctx.reg<uint8_t>(d.slot);
      const int stride = lane_stride(d);
      each_lane(mask, [&](int l) {
        if (d_bytes < stride) std::memset(to + l * stride, 0, static_cast<size_t>(stride));
        std::memcpy(to + l * stride, value[l] + offset, static_cast<size_t>(d_bytes));
      });
    }
    offset += d_bytes;
  }
}

/// The commonest ones: 64 bits from two 32-bit registers, and back.
void run_pack_2x32(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint64_t* d = ctx.reg<uint64_t>(inst.operand(0).slot);
  const uint32_t* lo = ctx.src<uint32_t>(inst.group(1)[0]);
  const uint32_t* hi = ctx.src<uint32_t>(inst.group(1)[1]);
  each_lane(mask, [&](int l) { d[l] = lo[l] | uint64_t{hi[l]} << 32; });
}
void run_pack_2x16(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const uint32_t* lo = ctx.src<uint32_t>(inst.group(1)[0]);
  const uint32_t* hi = ctx.src<uint32_t>(inst.group(1)[1]);
  each_lane(mask, [&](int l) { d[l] = (lo[l] & 0xffff) | hi[l] << 16; });
}

void run_mov_dynamic(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint64_t v = 0;
  switch (static_cast<DynamicSpecial>(inst.aux)) {
    case DynamicSpecial::clock: v = static_cast<uint32_t>(ctx.clock); break;
    case DynamicSpecial::clock_hi: v = ctx.clock >> 32; break;
    case DynamicSpecial::clock64: v = ctx.clock; break;
    case DynamicSpecial::globaltimer: v = ctx.globaltimer_ns; break;
    case DynamicSpecial::globaltimer_lo: v = static_cast<uint32_t>(ctx.globaltimer_ns); break;
    case DynamicSpecial::globaltimer_hi: v = ctx.globaltimer_ns >> 32; break;
  }
  const Operand& d = inst.operand(0);
  if (d.bit_width == 64) {
    uint64_t* r = ctx.reg<uint64_t>(d.slot);
    each_lane(mask, [&](int l) { r[l] = v; });
  } else {
    uint32_t* r = ctx.reg<uint32_t>(d.slot);
    each_lane(mask, [&](int l) { r[l] = static_cast<uint32_t>(v); });
  }
}

std::string bind_mov_vector(Inst& inst, const Decoded& d, int width) {
  const auto dst = inst.group(0), src = inst.group(1);
  const int d_bits = width / static_cast<int>(dst.size()), a_bits = width / static_cast<int>(src.size());
  if (dst.size() > 4 || src.size() > 4 || d_bits % 8 || a_bits % 8)
    return fmt::format("a vector of {} elements cannot make {} bits", std::max(dst.size(), src.size()), width);
  // A register may be wider than its element (16 bits live in 32-bit slots), not narrower.
  if (auto e = expect_group(inst, 0, d, d_bits, false, true); !e.empty()) return e;
  for (const Operand& op : src)
    if (op.kind != Operand::Kind::sink)
      if (auto e = expect_value(op, d, a_bits, false, "an element of the source"); !e.empty()) return e;
  inst.aux = static_cast<uint64_t>(d_bits / 8) | static_cast<uint64_t>(a_bits / 8) << 8;
  const bool plain = std::none_of(src.begin(), src.end(), [](const Operand& op) { return op.kind == Operand::Kind::sink; });
  if (plain && dst.size() == 1 && src.size() == 2 && width == 64) inst.exec = &run_pack_2x32;
  else if (plain && dst.size() == 1 && src.size() == 2 && width == 32) inst.exec = &run_pack_2x16;
  else inst.exec = &run_mov_vector;
  return {};
}

bool is_special(const Decoded& d, int32_t slot) {
  return d.kernel && std::any_of(d.kernel->specials.begin(), d.kernel->specials.end(), [slot](const SpecialSlot& s) { return s.slot == slot; });
}

std::string bind_mov(Inst& inst, const Decoded& d) {
  inst.op = Op::mov;
  inst.type = d.type();
  inst.timing = TimingClass::alu;
  const int width = bits(inst.type);
  if (inst.type == Type::pred) {
    if (auto e = expect_pred(inst, 0); !e.empty()) return e;
    const Operand::Kind kind = inst.operand(1).kind;
    if (kind != Operand::Kind::pred && kind != Operand::Kind::constant) return "operand 2 is not a predicate, expected a predicate";
    inst.exec = &run_mov_pred;
    return {};
  }
  if (inst.group(0).size() > 1 || inst.group(1).size() > 1) return bind_mov_vector(inst, d, width);
  if (auto e = expect_group(inst, 0, d, width, false, true); !e.empty()) return e;
  const Operand& a = inst.operand(1);
  if (a.kind == Operand::Kind::constant && !a.lanes) {
    inst.timing = TimingClass::s2r;
    inst.aux = static_cast<uint64_t>(a.value);
    inst.exec = &run_mov_dynamic;
    return {};
  }
  if (a.kind == Operand::Kind::reg && is_special(d, a.slot)) inst.timing = TimingClass::s2r;
  if (auto e = expect_value(a, d, width, false, "operand 2"); !e.empty()) return e;
  inst.exec = width <= 32 ? &run_mov32 : width == 64 ? &run_mov64 : &run_mov128;
  if (a.kind == Operand::Kind::constant && a.symbol >= 0 && a.space == Space::shared && width >= 32)
    inst.exec = width == 64 ? &run_mov_shared<uint64_t> : &run_mov_shared<uint32_t>;
  return {};
}

// ---- prmt ----

enum class Permute : uint64_t { general, f4e, b4e, rc8, ecl, ecr, rc16 };

uint32_t select_byte(uint64_t ab, uint32_t selector) {
  const uint32_t byte = static_cast<uint32_t>(ab >> (selector & 7) * 8) & 0xff;
  return (selector & 8) ? (byte & 0x80 ? 0xffu : 0u) : byte;
}

/// PTX ISA, "prmt": selectors of the modes as in its table, lowest byte first.
uint32_t permute(uint32_t a, uint32_t b, uint32_t c, Permute mode) {
  const uint64_t ab = a | uint64_t{b} << 32;
  const uint32_t n = c & 3;
  uint32_t r = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t s = 0;
    switch (mode) {
      case Permute::general: s = c >> 4 * i & 15; break;
      case Permute::f4e: s = n + i; break;
      case Permute::b4e: s = (n - i) & 7; break;
      case Permute::rc8: s = n; break;
      case Permute::ecl: s = std::max(n, i); break;
      case Permute::ecr: s = std::min(n, i); break;
      case Permute::rc16: s = (n & 1) * 2 + (i & 1); break;
    }
    r |= select_byte(ab, s) << 8 * i;
  }
  return r;
}

void run_prmt(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
  const uint32_t* a = ctx.src<uint32_t>(inst.operand(1));
  const uint32_t* b = ctx.src<uint32_t>(inst.operand(2));
  const uint32_t* c = ctx.src<uint32_t>(inst.operand(3));
  const auto mode = static_cast<Permute>(inst.aux);
  each_lane(mask, [&](int l) { d[l] = permute(a[l], b[l], c[l], mode); });
}

std::string bind_prmt(Inst& inst, const Decoded& d) {
  inst.op = Op::prmt;
  inst.type = Type::b32;
  inst.timing = TimingClass::alu;
  inst.exec = &run_prmt;
  constexpr std::string_view kModes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  const std::string_view mode = d.value("mode");
  inst.aux = static_cast<uint64_t>(std::find(std::begin(kModes), std::end(kModes), mode) - std::begin(kModes));
  for (int g = 0; g < 4; ++g)
    if (auto e = expect_group(inst, g, d, 32, false, g == 0); !e.empty()) return e;
  return {};
}

// ---- address spaces ----

uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
    case Space::shared_cluster: return kSharedWindow;
    case Space::local: return kLocalWindow;
    case Space::param: return kParamWindow;
    case Space::constant: return kConstantWindow;
    default: return 0;
  }
}

/// d = a + aux (cvta) or the offset in the window (cvta.to); 32- or 64-bit addresses.
void run_cvta(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const Operand& a = inst.operand(1);
  const bool to = (inst.flags & 1) != 0;
  const bool own_variable = inst.space == Space::shared && a.kind == Operand::Kind::constant && a.symbol >= 0;
  const uint64_t window = inst.aux + (own_variable ? uint64_t{ctx.cluster_rank} << SharedAddress::kRankShift : 0);
  const auto convert = [&](uint64_t v) { return !window ? v : to ? v & ((1ull << 40) - 1) : v + window; };
  if (bits(inst.type) == 64) {
    uint64_t* d = ctx.reg<uint64_t>(inst.operand(0).slot);
    const uint64_t* s = ctx.src<uint64_t>(a);
    each_lane(mask, [&](int l) { d[l] = convert(s[l]); });
  } else {
    uint32_t* d = ctx.reg<uint32_t>(inst.operand(0).slot);
    const uint32_t* s = ctx.src<uint32_t>(a);
    each_lane(mask, [&](int l) { d[l] = s[l]; });
  }
}

std::string bind_cvta(Inst& inst, const Decoded& d) {
  inst.op = Op::cvta;
  inst.type = d.type("size");
  inst.space = space_of(inst, d, 6);
  inst.timing = TimingClass::alu;
  inst.flags = d.has("to") ? 1 : 0;
  inst.aux = window_of(inst.space);
  const int width = bits(inst.type);
  for (int g = 0; g < 2; ++g)
    if (auto e = expect_group(inst, g, d, width, false, g == 0); !e.empty()) return e;
  if (inst.aux == 0) inst.exec = width == 64 ? &run_mov64 : &run_mov32;
  else inst.exec = &run_cvta;
  return {};
}

void run_isspacep(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  uint32_t found = 0;
  const Operand& a = inst.operand(1);
  if (a.bit_width == 64) {
    const uint64_t* s = ctx.src<uint64_t>(a);
    const uint64_t top = inst.aux >> 40;
    each_lane(mask, [&](int l) {
      const uint64_t window = s[l] >> 40;
      const bool any_window = window >= kSharedWindow >> 40 && window <= kConstantWindow >> 40;
      found |= (top ? window == top : !any_window) ? 1u << l : 0u;
    });
  }
  ctx.set_pred(inst.operand(0).slot, found, mask);
}

std::string bind_isspacep(Inst& inst, const Decoded& d) {
  inst.op = Op::isspacep;
  inst.type = Type::pred;
  inst.timing = TimingClass::isetp;
  inst.aux = window_of(space_of(inst, d, 6));
  inst.exec = &run_isspacep;
  if (auto e = expect_pred(inst, 0); !e.empty()) return e;
  return expect_value(inst.operand(1), d, 64, false, "operand 2");
}

constexpr std::string_view kMov =
    "mov.type d, a;  .type = { .pred, .b8, .b16, .b32, .b64, .b128, .u16, .u32, .u64, .s16, .s32, .s64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 };";
constexpr std::string_view kSpaces =
    "  .ss = { .const, .global, .local, .param, .param::entry, .shared, .shared::cta, .shared::cluster };  .size = { .u32, .u64 };";

}  // namespace

std::span<const InstDef> move_instructions() {
  static const std::string cvta = "cvta.ss.size p, a;\n\ncvta.to.ss.size p, a;" + std::string(kSpaces);
  static const std::string isspacep = "isspacep.ss p, a;" + std::string(kSpaces);
  static const std::vector<InstDef> table = [] {
    std::vector<InstDef> t = {
        {.base = "mov",
         .syntax = kMov,
         .op = Op::mov,
         .bind = &bind_mov,
         .since = {1, 0, 0},
         .manual = "Data Movement: mov",
         .doc = "copy; pack and unpack of vectors; special registers; addresses of variables"},
        {.base = "prmt",
         .syntax = "prmt.b32{.mode} d, a, b, c;  .mode = { .f4e, .b4e, .rc8, .ecl, .ecr, .rc16 };",
         .op = Op::prmt,
         .bind = &bind_prmt,
         .since = {2, 0, 0},
         .manual = "Data Movement: prmt",
         .doc = "permute bytes"},
        {.base = "cvta",
         .syntax = cvta,
         .op = Op::cvta,
         .bind = &bind_cvta,
         .since = {2, 0, 0},
         .manual = "Data Movement: cvta",
         .doc = "convert between an address in a state space and a generic one"},
        {.base = "isspacep",
         .syntax = isspacep,
         .op = Op::isspacep,
         .bind = &bind_isspacep,
         .since = {2, 0, 0},
         .manual = "Data Movement: isspacep",
         .doc = "does a generic address lie in a state space"},
    };
    for (const InstDef& def : exchange_instructions()) t.push_back(def);
    return t;
  }();
  return table;
}

}  // namespace tcsim::isa
