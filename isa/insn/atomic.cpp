#include "isa/insn/atomic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "isa/insn/access.h"
#include "isa/insn/fp.h"
#include "isa/insn/minmax.h"
#include "isa/insn/operands.h"

namespace tcsim::isa {
namespace {

template <class T>
T get(uint64_t raw) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(raw));
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(raw);
  else return static_cast<T>(raw);
}
template <class T>
uint64_t put(T v) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<uint32_t>(v);
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<uint64_t>(v);
  else return static_cast<std::make_unsigned_t<T>>(v);
}

struct And {
  template <class T>
  static T f(T a, T b, T) {
    return a & b;
  }
};
struct Or {
  template <class T>
  static T f(T a, T b, T) {
    return a | b;
  }
};
struct Xor {
  template <class T>
  static T f(T a, T b, T) {
    return a ^ b;
  }
};
struct Exch {
  template <class T>
  static T f(T, T b, T) {
    return b;
  }
};
struct Cas {
  template <class T>
  static T f(T a, T b, T c) {
    return a == b ? c : a;
  }
};
struct Add {
  template <class T>
  static T f(T a, T b, T) {
    return a + b;
  }
};
struct Inc {
  template <class T>
  static T f(T a, T b, T) {
    return a >= b ? T{0} : a + 1;
  }
};
struct Dec {
  template <class T>
  static T f(T a, T b, T) {
    return a == 0 || a > b ? b : a - 1;
  }
};
struct Min {
  template <class T>
  static T f(T a, T b, T) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T f(T a, T b, T) {
    return b > a ? b : a;
  }
};

template <class F, class T>
uint64_t plain(uint64_t old, uint64_t b, uint64_t c) {
  return put<T>(F::f(get<T>(old), get<T>(b), get<T>(c)));
}

float add_float(float a, float b) { return fp::canonical(a + b); }
float min_float(float a, float b) { return fp::min_max_f32<false, false, false, false>(a, b); }
float max_float(float a, float b) { return fp::min_max_f32<true, false, false, false>(a, b); }

uint64_t add_f32(uint64_t a, uint64_t b, uint64_t) { return put(add_float(get<float>(a), get<float>(b))); }
/// "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero" (PTX ISA, atom).
uint64_t add_f32_ftz(uint64_t a, uint64_t b, uint64_t) { return put(fp::flush(add_float(fp::flush(get<float>(a)), fp::flush(get<float>(b))))); }
uint64_t add_f64(uint64_t a, uint64_t b, uint64_t) { return put(get<double>(a) + get<double>(b)); }

/// f16 and bf16 go through f32: for a sum, rounding twice equals rounding once since 24 >= 2 * 11 + 2.
template <float (*F)(float, float)>
uint64_t half(uint64_t a, uint64_t b, uint64_t) {
  return fp::half_from_float(F(fp::half_to_float(static_cast<uint16_t>(a)), fp::half_to_float(static_cast<uint16_t>(b))));
}
template <float (*F)(float, float)>
uint64_t bhalf(uint64_t a, uint64_t b, uint64_t) {
  return fp::bf16_from_float(F(fp::bf16_to_float(static_cast<uint16_t>(a)), fp::bf16_to_float(static_cast<uint16_t>(b))));
}
template <Combine F>
uint64_t both(uint64_t a, uint64_t b, uint64_t c) {
  return F(a & 0xffff, b & 0xffff, c & 0xffff) | F(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16;
}

template <class F>
Combine bitwise(int width) {
  return width == 16 ? &plain<F, uint16_t> : width == 64 ? &plain<F, uint64_t> : &plain<F, uint32_t>;
}

template <class F>
Combine ordered(Type type) {
  switch (type) {
    case Type::u32: return &plain<F, uint32_t>;
    case Type::s32: return &plain<F, int32_t>;
    case Type::u64: return &plain<F, uint64_t>;
    case Type::s64: return &plain<F, int64_t>;
    default: return nullptr;
  }
}

template <float (*F)(float, float)>
Combine floating(Type type) {
  switch (type) {
    case Type::f16: return &half<F>;
    case Type::bf16: return &bhalf<F>;
    case Type::f16x2: return &both<&half<F>>;
    case Type::bf16x2: return &both<&bhalf<F>>;
    default: return nullptr;
  }
}

/// Read-modify-write of one element; atomic on the host too, since CTAs may run on several host threads.
template <class T>
uint64_t update(uint8_t* at, Combine f, uint64_t b, uint64_t c) {
  if (reinterpret_cast<uintptr_t>(at) % alignof(T) != 0) {
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T value = static_cast<T>(f(old, b, c));
    std::memcpy(at, &value, sizeof(T));
    return old;
  }
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, static_cast<T>(f(old, b, c)), std::memory_order_relaxed)) {}
  return old;
}

uint64_t update(int bytes, uint8_t* at, Combine f, uint64_t b, uint64_t c) {
  switch (bytes) {
    case 2: return update<uint16_t>(at, f, b, c);
    case 4: return update<uint32_t>(at, f, b, c);
    default: return update<uint64_t>(at, f, b, c);
  }
}

// flags: bytes of one element; red: no destination.
constexpr uint32_t kBytes = 0xff, kIsRed = 0x100, kIsCas = 0x200;

uint64_t lane_value(ExecContext& ctx, const Operand& op, int bytes, int l) {
  return bytes == 8 ? ctx.src<uint64_t>(op)[l] : ctx.src<uint32_t>(op)[l];
}

void write_old(ExecContext& ctx, const Operand& d, int bytes, int l, uint64_t old) {
  if (d.kind != Operand::Kind::reg) return;
  if (bytes == 8 || d.bit_width == 64) ctx.reg<uint64_t>(d.slot)[l] = old;
  else ctx.reg<uint32_t>(d.slot)[l] = static_cast<uint32_t>(old);
}

void run_atom(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  const bool red = (inst.flags & kIsRed) != 0;
  const int bytes = inst.flags & kBytes, first = red ? 0 : 1;
  const auto chosen = reinterpret_cast<Combine>(inst.aux);
  const auto sources = inst.group(first + 1);
  const auto total = static_cast<uint32_t>(bytes * static_cast<int>(sources.size()));
  for_spaces(ctx, inst.operand(first), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    Located at;
    if (!locate(ctx, inst, space, address, total, total, lanes, AccessKind::atomic, at)) return;
    if (!ctx.addresses_only) check_read(ctx, at);
    note_write(ctx, inst, at);
    if (ctx.addresses_only || ctx.data_unknown) return;
    const Combine combine = space == Space::shared && chosen == &add_f32_ftz ? &add_f32 : chosen;
    for (uint32_t m = lanes; m; m &= m - 1) {  // in lane order
      const int l = std::countr_zero(m);
      for (size_t k = 0; k < sources.size(); ++k) {
        const uint64_t b = lane_value(ctx, sources[k], bytes, l);
        const uint64_t c = (inst.flags & kIsCas) ? lane_value(ctx, inst.operand(first + 2), bytes, l) : 0;
        const uint64_t old = update(bytes, at.at[l] + k * static_cast<size_t>(bytes), combine, b, c);
        if (!red) write_old(ctx, inst.group(0)[k], bytes, l, old);
      }
    }
  });
}

/// exch and cas of 128 bits.
void run_atom_128(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  using Cell = std::array<uint64_t, 2>;
  for_spaces(ctx, inst.operand(1), inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address) {
    Located at;
    if (!locate(ctx, inst, space, address, 16, 16, lanes, AccessKind::atomic, at)) return;
    if (!ctx.addresses_only) check_read(ctx, at);
    note_write(ctx, inst, at);
    if (ctx.addresses_only || ctx.data_unknown) return;
    const auto* b = reinterpret_cast<const Cell*>(ctx.reg<uint64_t>(inst.operand(2).slot));
    const auto* c = (inst.flags & kIsCas) ? reinterpret_cast<const Cell*>(ctx.reg<uint64_t>(inst.operand(3).slot)) : nullptr;
    for (uint32_t m = lanes; m; m &= m - 1) {
      const int l = std::countr_zero(m);
      Cell old;
      std::memcpy(&old, at.at[l], 16);
      const Cell value = !c ? b[l] : old == b[l] ? c[l] : old;
      std::memcpy(at.at[l], &value, 16);
      if (inst.operand(0).kind == Operand::Kind::reg) reinterpret_cast<Cell*>(ctx.reg<uint64_t>(inst.operand(0).slot))[l] = old;
    }
  });
}

std::string not_an_operation(std::string_view op, Type type) { return fmt::format(".{} does not exist for .{}", op, name(type)); }

std::string bind(Inst& inst, const Decoded& d, bool red) {
  const int first = red ? 0 : 1;
  inst.op = red ? Op::red : Op::atom;
  inst.type = d.type();
  std::string_view op = d.value("op");
  if (op.empty()) op = d.has("cas") ? "cas" : d.has("exch") ? "exch" : "add";
  const int width = bits(inst.type);
  if (auto e = expect_address(inst, first); !e.empty()) return e;
  const std::string_view vec = d.value("vec");
  const size_t count = vec.empty() ? 1 : static_cast<size_t>(vec[1] - '0');
  for (const int group : red ? std::vector{1} : std::vector{0, 2}) {
    if (group >= inst.group_count || inst.group(group).size() != count) return fmt::format("operand {} must have {} elements", group + 1, count);
    if (auto e = expect_group(inst, group, d, width, false, group == 0); !e.empty()) return e;
  }
  const bool cas = op == "cas";
  if (cas && inst.group_count < 4) return "cas needs four operands: d, [a], b, c";
  if (cas)
    if (auto e = expect_group(inst, 3, d, width, false, false); !e.empty()) return e;
  inst.space = space_of(inst, d, first);
  if (inst.space == Space::local || inst.space == Space::param || inst.space == Space::constant)
    return fmt::format("atomics do not exist on .{}, expected .global, .shared or generic", name(inst.space));
  inst.flags = static_cast<uint32_t>(width / 8) | (red ? kIsRed : 0) | (cas ? kIsCas : 0);
  const bool shared = inst.space == Space::shared || inst.space == Space::shared_cluster;
  inst.timing = shared ? TimingClass::atoms : red ? TimingClass::red : TimingClass::atomg;
  if (width == 128) {
    if (op != "cas" && op != "exch") return not_an_operation(op, inst.type);
    inst.exec = &run_atom_128;
    return {};
  }
  Combine combine = combine_for(op, inst.type);
  if (!combine) return not_an_operation(op, inst.type);
  if (inst.type == Type::f32 && op == "add" && !shared) combine = &add_f32_ftz;
  inst.aux = reinterpret_cast<uint64_t>(combine);
  inst.exec = &run_atom;
  return {};
}

std::string bind_atom(Inst& inst, const Decoded& d) { return bind(inst, d, false); }
std::string bind_red(Inst& inst, const Decoded& d) { return bind(inst, d, true); }

constexpr std::string_view kSets =
    "  .sem = { .relaxed, .acquire, .release, .acq_rel };  .scope = { .cta, .cluster, .gpu, .sys };"
    "  .ss = { .global, .shared, .shared::cta, .shared::cluster };  .level::cache_hint = { .L2::cache_hint };"
    "  .op = { .and, .or, .xor, .cas, .exch, .add, .inc, .dec, .min, .max };"
    "  .vec = { .v2, .v4, .v8 };"
    "  .type = { .b16, .b32, .b64, .b128, .u32, .u64, .s32, .s64, .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 };";

const std::string& atom_syntax() {
  static const std::string text = std::string(
                                      "atom{.sem}{.scope}{.ss}.op{.level::cache_hint}.type d, [a], b{, c}{, cache-policy};\n\n"
                                      "atom{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.type d, [a], b{, cache-policy};\n\n"
                                      "atom{.sem}{.scope}{.ss}.op{.level::cache_hint}.vec.type d, [a], b{, cache-policy};\n\n"
                                      "atom{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.vec.type d, [a], b{, cache-policy};\n\n"
                                      "atom.ss.scope{.sem}.op{.noftz}{.level::cache_hint}{.vec}.type d, [a], b{, c}{, cache-policy};") +
                                  std::string(kSets);
  return text;
}
const std::string& red_syntax() {
  static const std::string text = std::string(
                                      "red{.sem}{.scope}{.ss}.op{.level::cache_hint}.type [a], b{, cache-policy};\n\n"
                                      "red{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.type [a], b{, cache-policy};\n\n"
                                      "red{.sem}{.scope}{.ss}.op{.level::cache_hint}.vec.type [a], b{, cache-policy};\n\n"
                                      "red{.sem}{.scope}{.ss}.op.noftz{.level::cache_hint}.vec.type [a], b{, cache-policy};\n\n"
                                      "red.ss.scope{.sem}.op{.noftz}{.level::cache_hint}{.vec}.type [a], b{, cache-policy};") +
                                  std::string(kSets);
  return text;
}

}  // namespace

Combine combine_for(std::string_view op, Type type) {
  const int width = bits(type);
  const bool bit_type = type == Type::b16 || type == Type::b32 || type == Type::b64;
  const bool any_32_64 = width >= 32 && type != Type::f16x2 && type != Type::bf16x2;
  if (op == "and" && bit_type && width >= 32) return bitwise<And>(width);
  if (op == "or" && bit_type && width >= 32) return bitwise<Or>(width);
  if (op == "xor" && bit_type && width >= 32) return bitwise<Xor>(width);
  if (op == "exch" && (bit_type || any_32_64) && width >= 32) return bitwise<Exch>(width);
  if (op == "cas" && (bit_type || any_32_64)) return bitwise<Cas>(width);
  if (op == "inc" && type == Type::u32) return &plain<Inc, uint32_t>;
  if (op == "dec" && type == Type::u32) return &plain<Dec, uint32_t>;
  if (op == "add") {
    if (type == Type::f32) return &add_f32;
    if (type == Type::f64) return &add_f64;
    if (is_float(type)) return floating<&add_float>(type);
    return ordered<Max>(type) ? bitwise<Add>(width) : nullptr;  // wraps, so signed and unsigned are the same
  }
  if (op == "min") return is_float(type) ? floating<&min_float>(type) : ordered<Min>(type);
  if (op == "max") return is_float(type) ? floating<&max_float>(type) : ordered<Max>(type);
  return nullptr;
}

std::span<const InstDef> atomic_instructions() {
  static const std::vector<InstDef> table = {
      {.base = "atom",
       .syntax = atom_syntax(),
       .op = Op::atom,
       .bind = &bind_atom,
       .since = {1, 1, 0},
       .manual = "Synchronization: atom",
       .doc = "atomic read-modify-write; d is the old value"},
      {.base = "red",
       .syntax = red_syntax(),
       .op = Op::red,
       .bind = &bind_red,
       .since = {1, 2, 0},
       .manual = "Synchronization: red",
       .doc = "atomic update without a result"},
  };
  return table;
}

}  // namespace tcsim::isa
