#include "isa/layout/tcgen05_descriptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "isa/check.h"

namespace tcsim::isa {
namespace {

struct Field {
  int at, width;
  constexpr uint64_t of(uint64_t bits) const { return bits >> at & ((uint64_t{1} << width) - 1); }
  constexpr uint64_t put(uint64_t value) const { return (value & ((uint64_t{1} << width) - 1)) << at; }
  constexpr uint64_t mask() const { return put(~uint64_t{0}); }
  std::string range() const { return width == 1 ? fmt::format("bit {}", at) : fmt::format("bits {}-{}", at, at + width - 1); }
};

// ---- shared memory ----

constexpr Field kStart{0, 14}, kLeading{16, 14}, kStride{32, 14}, kVersion{46, 3}, kBaseOffset{49, 3}, kAbsolute{52, 1}, kFixed{53, 8},
    kLayout{61, 3};

struct SwizzleMode {
  uint8_t bytes, atom;
};
/// By the value of the field; 0xff: invalid.
constexpr std::array<SwizzleMode, 8> kModes = {{{0, 16}, {128, 32}, {128, 16}, {0xff, 16}, {64, 16}, {0xff, 16}, {32, 16}, {0xff, 16}}};

// ---- instructions (PTX ISA, tables of "Instruction descriptor") ----

constexpr Field kSelector{0, 2}, kSparse{2, 1}, kSaturate{3, 1}, kD{4, 2}, kA{7, 3}, kB{10, 3}, kNegateA{13, 1}, kNegateB{14, 1}, kMajorA{15, 1},
    kMajorB{16, 1}, kN{17, 6}, kM{24, 5}, kMaxShift{30, 2};
// Scaled kinds have these instead of kSelector, kSaturate, kD and kMaxShift.
constexpr Field kScaleB{4, 2}, kScaleType{23, 1}, kScaleA{29, 2}, kK96{31, 1};

constexpr std::array<std::string_view, 7> kKindNames = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};

struct TypeCode {
  uint8_t code;
  Type type;
};
constexpr TypeCode kF16Types[] = {{0, Type::f16}, {1, Type::bf16}};
constexpr TypeCode kTf32Types[] = {{2, Type::tf32}};
constexpr TypeCode kNarrowTypes[] = {{0, Type::e4m3}, {1, Type::e5m2}, {3, Type::e2m3}, {4, Type::e3m2}, {5, Type::e2m1}};
constexpr TypeCode kI8Types[] = {{0, Type::u8}, {1, Type::s8}};
constexpr TypeCode kF4Types[] = {{1, Type::e2m1}};

std::span<const TypeCode> types_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16: return kF16Types;
    case MmaKind::tf32: return kTf32Types;
    case MmaKind::i8: return kI8Types;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return kF4Types;
    default: return kNarrowTypes;
  }
}

Type type_of(MmaKind kind, uint64_t code) {
  for (const TypeCode& t : types_of(kind))
    if (t.code == code) return t.type;
  return Type::none;
}

uint64_t code_of(MmaKind kind, Type type) {
  for (const TypeCode& t : types_of(kind))
    if (t.type == type) return t.code;
  TC_CHECK(false, "no .{} in kind::{}", name(type), kKindNames[static_cast<size_t>(kind)]);
}

constexpr std::array<Type, 4> kDTypes = {Type::f16, Type::f32, Type::s32, Type::none};

std::string wrong(const Field& f, std::string_view what, uint64_t found, std::string_view expected) {
  return fmt::format("{} ({}) is {}, expected {}", what, f.range(), found, expected);
}

/// Reserved bits of a kind.
std::vector<Field> reserved(MmaKind kind) {
  if (!is_scaled(kind)) return {{6, 1}, {23, 1}, {29, 1}};
  std::vector<Field> fields = {{0, 2}, {3, 1}, {6, 1}, {24, 3}};
  if (kind == MmaKind::mxf8f6f4) fields.push_back({31, 1});
  else fields.push_back({12, 1});
  return fields;
}

std::string check_types(MmaKind kind, uint32_t bits) {
  std::string list;
  for (const TypeCode& t : types_of(kind)) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", t.code, name(t.type));
  for (const auto& [field, what] : {std::pair{kA, "type of A"}, {kB, "type of B"}})
    if (type_of(kind, field.of(bits)) == Type::none) return wrong(field, what, field.of(bits), list);
  const InstructionDescriptor d = decode_instruction_descriptor(kind, bits);
  // f16 and bf16 do not mix: Table "Various combinations of .kind and shapes" gives atype/btype as one list; bf16 has f32 only.
  if (kind == MmaKind::f16 && d.a != d.b)
    return fmt::format("type of A (bits 7-9) is .{} and type of B (bits 10-12) .{}, expected the same", name(d.a), name(d.b));
  if (is_scaled(kind)) return {};
  const uint64_t code = kD.of(bits);
  if (kind == MmaKind::i8) return code == 2 ? "" : wrong(kD, "type of D", code, "2 (s32)");
  if (kind == MmaKind::tf32 || d.a == Type::bf16)
    return code == 1 ? "" : wrong(kD, "type of D", code, fmt::format("1 (f32) with .{} operands", name(d.a)));
  return code <= 1 ? "" : wrong(kD, "type of D", code, "0 (f16) or 1 (f32)");
}

std::string check_shape(const MmaForm& form, const InstructionDescriptor& d) {
  const bool pair = form.cta_group == 2, ws = form.weight_stationary;
  const char* where = ws ? "with .ws" : pair ? "with cta_group::2" : "with cta_group::1";
  std::vector<int> ms = pair ? std::vector{128, 256} : ws ? std::vector{32, 64, 128} : std::vector{64, 128};
  if (is_scaled(form.kind)) ms = pair ? (form.sparse ? std::vector{256} : std::vector{128, 256}) : std::vector{128};
  if (std::find(ms.begin(), ms.end(), d.m) == ms.end())
    return fmt::format("M (bits 24-28) is {}, expected {} for kind::{}{} {}", d.m, fmt::join(ms, " or "), name(form.kind),
                       form.sparse ? " sparse" : "", where);
  if (form.shift && d.m < 128) return fmt::format("M (bits 24-28) is {}, expected 128 or 256 with .ashift", d.m);
  if (ws) {
    if (d.n == 64 || d.n == 128 || (d.n == 256 && !form.sparse)) return {};
    return fmt::format("N (bits 17-22) is {}, expected {} with .ws", d.n, form.sparse ? "64 or 128" : "64, 128 or 256");
  }
  const bool i8 = form.kind == MmaKind::i8, transposed_bytes = d.b_major == Major::mn && bits(d.b) == 8;
  int step = pair ? 16 : 8;
  // The manual's table gives steps of 32 for pairs with kind::i8; a B200 ran N of 80 and 112 too (SemiAnalysisAI/microbench-blackwell,
  // tput_results_max.csv, rows S8 with cta_group::2).
  if (i8 && !pair && d.n > 32) step = 16;
  if (transposed_bytes) step = pair ? 32 : 16;
  if (d.n >= step && d.n <= 256 && d.n % step == 0) return {};
  return fmt::format("N (bits 17-22) is {}, expected a multiple of {} up to 256 for kind::{}{} {}", d.n, step, name(form.kind),
                     transposed_bytes ? " with a transposed B of 8-bit elements" : "", where);
}

std::string check_modifiers(const MmaForm& form, uint32_t bits, const InstructionDescriptor& d) {
  const MmaKind kind = form.kind;
  if (d.sparse != form.sparse)
    return wrong(kSparse, "sparsity", d.sparse, form.sparse ? "1: the instruction is tcgen05.mma.sp" : "0: the instruction has no .sp");
  if (!is_scaled(kind)) {
    const bool selects = form.sparse && (kind == MmaKind::f16 || kind == MmaKind::tf32);
    if (!selects && d.selector != 0)
      return wrong(kSelector, "sparsity selector", d.selector, fmt::format("0 for {}kind::{}", form.sparse ? "" : "dense ", name(kind)));
    if (d.saturate && kind != MmaKind::i8) return wrong(kSaturate, "saturation", 1, fmt::format("0: kind::{} has none", name(kind)));
    if (d.max_shift && !form.weight_stationary) return wrong(kMaxShift, "maximum shift of B", kMaxShift.of(bits), "0 without .ws");
  }
  if (kind == MmaKind::i8 && (d.negate_a || d.negate_b)) return wrong(d.negate_a ? kNegateA : kNegateB, "negation", 1, "0: kind::i8 has none");
  for (const auto& [field, type, major, letter] : {std::tuple{kMajorA, d.a, d.a_major, 'A'}, {kMajorB, d.b, d.b_major, 'B'}}) {
    if (major == Major::k) continue;
    if (is_packed_e2m1(kind) || isa::bits(type) < 8)
      return wrong(field, fmt::format("transpose of {}", letter), 1, fmt::format("0 for elements of .{}", name(type)));
    if (letter == 'A' && form.a_in_tensor_memory) return wrong(field, "transpose of A", 1, "0: A is in Tensor Memory");
  }
  return {};
}

std::string check_scales(const MmaForm& form, const InstructionDescriptor& d) {
  if (d.k96) return "K (bit 31) is 1 (K = 96), which only sm_103 has, expected 0";
  if (form.kind != MmaKind::mxf4nvf4 && d.scale != Type::ue8m0)
    return wrong(kScaleType, "type of the scales", 0, fmt::format("1 (ue8m0) for kind::{}", name(form.kind)));
  if (d.scale == Type::ue4m3 && form.scale_vec != 4)
    return wrong(kScaleType, "type of the scales", 0, "1 (ue8m0): ue4m3 exists with .scale_vec::4X or .block16 only");
  for (const auto& [field, id, letter] : {std::tuple{kScaleA, d.scale_a_id, 'A'}, {kScaleB, d.scale_b_id, 'B'}})
    if (id % form.scale_vec != 0)
      return wrong(field, fmt::format("scale factor ID of {}", letter), id,
                   form.scale_vec == 4 ? "0 with four scale factors a row" : "0 or 2 with two scale factors a row");
  return {};
}

}  // namespace

MatrixDescriptor decode_tcgen05_descriptor(uint64_t bits) {
  const SwizzleMode mode = kModes[kLayout.of(bits)];
  return {static_cast<uint32_t>(kStart.of(bits)) << 4, static_cast<uint32_t>(kLeading.of(bits)) << 4, static_cast<uint32_t>(kStride.of(bits)) << 4,
          static_cast<uint8_t>(kBaseOffset.of(bits)),  mode.bytes == 0xff ? uint8_t{0} : mode.bytes,  mode.atom};
}

uint64_t encode_tcgen05_descriptor(const MatrixDescriptor& d) {
  uint64_t layout = 0;
  while (kModes[layout].bytes != d.swizzle_bytes || kModes[layout].atom != d.atom_bytes)
    TC_CHECK(++layout < kModes.size(), "swizzle of {} bytes in units of {}", d.swizzle_bytes, d.atom_bytes);
  return kStart.put(d.start >> 4) | kLeading.put(d.leading >> 4) | kStride.put(d.stride >> 4) | kVersion.put(1) | kBaseOffset.put(d.base_offset) |
         kLayout.put(layout);
}

DescriptorProblem check_tcgen05_descriptor(uint64_t bits, Major major, uint32_t slice_bytes) {
  const auto bad = [](std::string text) { return DescriptorProblem{"bad-descriptor", std::move(text)}; };
  if (kVersion.of(bits) != 1) {
    const bool hopper = kVersion.of(bits) == 0 && kLayout.of(bits) % 2 == 0;
    return bad(fmt::format("bits 46-48 are {}, expected the constant 1{}", kVersion.of(bits),
                           hopper ? " (is it a wgmma descriptor? sm_100 has another format)" : ""));
  }
  if (kFixed.of(bits) != 0) return bad(fmt::format("bits 53-60 are {:#x}, expected 0", kFixed.of(bits)));
  if (kModes[kLayout.of(bits)].bytes == 0xff)
    return bad(
        fmt::format("swizzle mode (bits 61-63) is {}, expected 0 (none), 1 (128 bytes in units of 32), 2 (128 bytes), 4 (64 bytes) or 6 (32 bytes)",
                    kLayout.of(bits)));
  if (kAbsolute.of(bits)) return bad("the leading dimension is an address (bit 52), which only sm_103 has");
  const MatrixDescriptor d = decode_tcgen05_descriptor(bits);
  if (d.atom_bytes == 32 && major == Major::k)
    return bad("swizzle mode (bits 61-63) is 1 (128 bytes in units of 32), which exists for transposed matrices of tf32 only");
  return check_descriptor(d, major, slice_bytes);
}

std::string_view name(MmaKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<MmaKind> mma_kind_named(std::string_view text) {
  for (size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == text) return static_cast<MmaKind>(i);
  return std::nullopt;
}

InstructionDescriptor decode_instruction_descriptor(MmaKind kind, uint32_t bits) {
  InstructionDescriptor d;
  d.sparse = kSparse.of(bits);
  d.a = type_of(kind, kA.of(bits));
  d.b = type_of(kind, kB.of(bits));
  d.negate_a = kNegateA.of(bits);
  d.negate_b = kNegateB.of(bits);
  d.a_major = kMajorA.of(bits) ? Major::mn : Major::k;
  d.b_major = kMajorB.of(bits) ? Major::mn : Major::k;
  d.n = static_cast<int>(kN.of(bits)) << 3;
  d.m = static_cast<int>(kM.of(bits)) << 4;
  if (is_scaled(kind)) {
    d.scale = kScaleType.of(bits) ? Type::ue8m0 : Type::ue4m3;
    d.scale_a_id = static_cast<uint8_t>(kScaleA.of(bits));
    d.scale_b_id = static_cast<uint8_t>(kScaleB.of(bits));
    d.k96 = is_packed_e2m1(kind) && kK96.of(bits);
    return d;
  }
  d.selector = static_cast<uint8_t>(kSelector.of(bits));
  d.saturate = kSaturate.of(bits);
  d.d = kDTypes[kD.of(bits)];
  d.max_shift = static_cast<uint8_t>(kMaxShift.of(bits) ? 4 << kMaxShift.of(bits) : 0);
  return d;
}

uint32_t encode_instruction_descriptor(MmaKind kind, const InstructionDescriptor& d) {
  uint64_t bits = kSparse.put(d.sparse) | kA.put(code_of(kind, d.a)) | kB.put(code_of(kind, d.b)) | kNegateA.put(d.negate_a) |
                  kNegateB.put(d.negate_b) | kMajorA.put(d.a_major == Major::mn) | kMajorB.put(d.b_major == Major::mn) |
                  kN.put(static_cast<uint64_t>(d.n) >> 3) | kM.put(static_cast<uint64_t>(d.m) >> 4);
  if (is_scaled(kind))
    return static_cast<uint32_t>(bits | kScaleType.put(d.scale == Type::ue8m0) | kScaleA.put(d.scale_a_id) | kScaleB.put(d.scale_b_id) |
                                 kK96.put(d.k96));
  uint64_t d_code = 0;
  while (kDTypes[d_code] != d.d) TC_CHECK(++d_code < 3, "D of .{}", name(d.d));
  uint64_t shift = 0;
  while (shift < 3 && (shift ? 4 << shift : 0) != d.max_shift) ++shift;
  return static_cast<uint32_t>(bits | kSelector.put(d.selector) | kSaturate.put(d.saturate) | kD.put(d_code) | kMaxShift.put(shift));
}

std::string check_instruction_descriptor(const MmaForm& form, uint32_t bits) {
  for (const Field& f : reserved(form.kind))
    if (f.of(bits) != 0) return fmt::format("reserved {} of kind::{} is {}, expected 0", f.range(), name(form.kind), f.of(bits));
  if (auto e = check_types(form.kind, bits); !e.empty()) return e;
  const InstructionDescriptor d = decode_instruction_descriptor(form.kind, bits);
  if (auto e = check_shape(form, d); !e.empty()) return e;
  if (auto e = check_modifiers(form, bits, d); !e.empty()) return e;
  return is_scaled(form.kind) ? check_scales(form, d) : std::string{};
}

std::string describe(MmaKind kind, const InstructionDescriptor& d) {
  std::string text = fmt::format("m{}n{}k{}, {} = {}{} * {}{}", d.m, d.n, tcgen05_k(kind, d.sparse), name(d.d), d.negate_a ? "-" : "", name(d.a),
                                 d.negate_b ? "-" : "", name(d.b));
  if (d.a_major == Major::mn) text += ", A transposed";
  if (d.b_major == Major::mn) text += ", B transposed";
  if (d.sparse) text += fmt::format(", sparse{}", d.selector ? fmt::format(" (selector {})", d.selector) : "");
  if (d.saturate) text += ", saturating";
  if (d.scale != Type::none) text += fmt::format(", scales .{} (IDs {} and {})", name(d.scale), d.scale_a_id, d.scale_b_id);
  return text;
}

std::bitset<256> zero_columns(uint64_t bits, int m, int n) {
  std::bitset<256> zero;
  constexpr Field kNonZero{39, 1}, kSkip{40, 8}, kUse{48, 8};
  if (!kNonZero.of(bits)) return zero;
  const int parts = m == 128 ? 1 : m == 64 ? 2 : 4, each = n / parts;
  // Runs of ones (zero columns) and of zeros alternate. The manual's table has the two spans the wrong way round: its examples and
  // CUTLASS (MaskAndShiftB) make the skip span the number of ones less one, and the use span that of zeros.
  const int ones = static_cast<int>(kSkip.of(bits)) + 1, zeros = static_cast<int>(kUse.of(bits)) + 1;
  for (int part = 0; part < parts; ++part) {
    bool one = bits >> (32 + part) & 1;
    int left = (one ? ones : zeros) - static_cast<int>(bits >> (8 * part) & 0xff);
    for (int i = 0; i < each; ++i) {
      while (left <= 0) one = !one, left += one ? ones : zeros;
      zero[static_cast<size_t>(part * each + i)] = one;
      --left;
    }
  }
  return zero;
}

}  // namespace tcsim::isa
