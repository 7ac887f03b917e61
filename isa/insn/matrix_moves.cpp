#include "isa/insn/matrix_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "isa/insn/access.h"
#include "isa/insn/operands.h"
#include "isa/matrix/matrix_move.h"

namespace tcsim::isa {
namespace {

// ---- ldmatrix, stmatrix, movmatrix ----

// aux: registers, for each of which eight lanes give addresses; flags: below.
enum : uint32_t { kTransposed = 1, kBytes = 2, kSixteenRows = 4 };  // kBytes: element bits from bit 8 on
int element_bits(const Inst& inst) { return static_cast<int>(inst.flags >> 8); }

/// Row addresses of lanes 0 .. 8 * count - 1: 16 bytes each in shared memory.
bool locate_rows(ExecContext& ctx, const Inst& inst, const Operand& op, uint32_t mask, AccessKind kind, Located& at) {
  if (!ctx.converged(kFullMask, mask)) return false;
  const uint32_t rows = inst.aux == 4 ? kFullMask : (1u << 8 * inst.aux) - 1;
  if (rows & ~mask) {
    ctx.fault("illegal-instruction", std::countr_zero(rows & ~mask), 0, "a lane that has exited or does not exist gives a row address");
    return false;
  }
  uint64_t* address = ctx.fx.access.address.data();
  lane_addresses(ctx, op, mask, address);
  if (op.bit_width == 64) each_lane(mask, [&](int l) { address[l] &= (1ull << 40) - 1; });
  return locate(ctx, inst, Space::shared, address, 16, 16, rows, kind, at);
}

void registers(ExecContext& ctx, const Inst& inst, int group, std::array<uint32_t*, 4>& out) {
  size_t i = 0;
  for (const Operand& op : inst.group(group))
    out[i++] = op.kind == Operand::Kind::constant ? static_cast<uint32_t*>(const_cast<void*>(op.lanes)) : ctx.reg<uint32_t>(op.slot);
}

void run_ldmatrix(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  Located at;
  if (!locate_rows(ctx, inst, inst.operand(1), mask, AccessKind::ldmatrix, at) || ctx.addresses_only) return;
  const int count = static_cast<int>(inst.aux);
  if (inst.flags & kBytes) at.bytes = static_cast<uint32_t>(16 * element_bits(inst) / 8);  // the rest of a row is padding
  check_read(ctx, at);
  std::array<uint32_t*, 4> d;
  registers(ctx, inst, 0, d);
  if (inst.flags & kSixteenRows) ldmatrix_m16n16_trans(d.data(), at.at.data(), count / 2, element_bits(inst));
  else if (inst.flags & kBytes) ldmatrix_m8n16(d.data(), at.at.data(), count, element_bits(inst));
  else ldmatrix(d.data(), at.at.data(), count, (inst.flags & kTransposed) != 0);
}

void run_stmatrix(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  Located at;
  if (!locate_rows(ctx, inst, inst.operand(0), mask, AccessKind::stmatrix, at)) return;
  note_write(ctx, inst, at);
  if (ctx.addresses_only || ctx.data_unknown) return;
  std::array<uint32_t*, 4> a;
  registers(ctx, inst, 1, a);
  if (inst.flags & kBytes) stmatrix_m16n8_trans(at.at.data(), a.data(), static_cast<int>(inst.aux));
  else stmatrix(at.at.data(), a.data(), static_cast<int>(inst.aux), (inst.flags & kTransposed) != 0);
}

void run_movmatrix(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return;
  movmatrix(ctx.reg<uint32_t>(inst.operand(0).slot), ctx.src<uint32_t>(inst.operand(1)));
}

std::string bind_rows(Inst& inst, const Decoded& d, bool load) {
  inst.op = load ? Op::ldmatrix : Op::stmatrix;
  inst.type = Type::b16;
  inst.space = Space::shared;
  inst.timing = load ? TimingClass::ldsm : TimingClass::stsm;
  inst.exec = load ? &run_ldmatrix : &run_stmatrix;
  const std::string_view num = d.value("num");
  const bool sixteen_rows = d.has("m16n16");
  inst.aux = static_cast<uint64_t>(num[1] - '0') * (sixteen_rows ? 2 : 1);
  inst.flags = (d.has("trans") ? kTransposed : 0u) | (sixteen_rows ? kSixteenRows : 0u);
  if (d.has("b8") || d.has("b8x16")) {
    if (d.module && !d.module->arch_specific)
      return fmt::format("target {} does not have this form, expected sm_100a or later with suffix a", d.module->target);
    inst.type = Type::b8;
    inst.flags |= kBytes | (d.has("b6x16_p32") ? 6u : d.has("b4x16_p64") ? 4u : 8u) << 8;
  }
  const int data = load ? 0 : 1;
  if (auto e = expect_address(inst, load ? 1 : 0); !e.empty()) return e;
  if (inst.group(data).size() != inst.aux)
    return fmt::format("operand {} has {} registers, expected {}", data + 1, inst.group(data).size(), inst.aux);
  for (const Operand& op : inst.group(data))
    if (op.kind == Operand::Kind::sink) return "'_' in a list of registers, expected registers";
  return expect_group(inst, data, d, 32, false, load);
}

std::string bind_ldmatrix(Inst& inst, const Decoded& d) { return bind_rows(inst, d, true); }
std::string bind_stmatrix(Inst& inst, const Decoded& d) { return bind_rows(inst, d, false); }

std::string bind_movmatrix(Inst& inst, const Decoded& d) {
  inst.op = Op::movmatrix;
  inst.type = Type::b16;
  inst.timing = TimingClass::movm;
  inst.exec = &run_movmatrix;
  for (int g = 0; g < 2; ++g)
    if (auto e = expect_group(inst, g, d, 32, false, g == 0); !e.empty()) return e;
  return {};
}

// ---- wmma.load, wmma.store ----

/// Prepared: pieces in rounds. In a round each lane moves at most one piece, all of the same width, as one memory
/// instruction of the hardware would.
struct WmmaPlan {
  WmmaAccess access;
  uint64_t default_stride = 0;  // elements
  struct Round {
    uint32_t first, count, mask, bits;
    bool repeats;  // loads the same bytes as an earlier round (registers that hold copies): the hardware moves registers
  };
  std::vector<WmmaPiece> pieces;  // by round
  std::vector<Round> rounds;
  /// What the hardware does instead of the rounds: `bytes` in each lane from element (major, minor) on.
  struct Moved {
    AccessKind kind;
    uint32_t bytes, mask;
    std::array<std::pair<int, int>, kLanes> at;
  };
  std::vector<Moved> ldmatrix;  // what ptxas makes of loads of 8- and 16-bit fragments from shared memory; else empty
  std::vector<Moved> volta;     // f16 products on Volta
};

/// 8x8 matrices of 16-bit cells that cover the fragment, four an instruction. 8-bit elements only along K: ldmatrix
/// transposes 16-bit cells, not bytes.
void add_ldmatrix(WmmaPlan& plan, MatrixRole role, MatrixOrder order) {
  const FragmentMap& map = plan.access.map();
  const bool along_k = (role == MatrixRole::a) == (order == MatrixOrder::row);
  const int element = map.element_bits();
  if ((role != MatrixRole::a && role != MatrixRole::b) || (element != 16 && (element != 8 || !along_k))) return;
  const int major = order == MatrixOrder::row ? map.rows() : map.cols(), minor = order == MatrixOrder::row ? map.cols() : map.rows();
  const int per_row = 128 / element;
  std::vector<std::pair<int, int>> matrices;
  for (int x = 0; x < minor; x += per_row)
    for (int y = 0; y < major; y += 8) matrices.emplace_back(y, x);
  for (size_t first = 0; first < matrices.size(); first += 4) {
    const size_t count = std::min<size_t>(4, matrices.size() - first);
    WmmaPlan::Moved rows{AccessKind::ldmatrix, 16, count == 4 ? kFullMask : (1u << 8 * count) - 1, {}};
    for (size_t l = 0; l < 8 * count; ++l) {
      const auto [y, x] = matrices[first + l / 8];
      rows.at[l] = {y + static_cast<int>(l % 8), x};
    }
    plan.ldmatrix.push_back(rows);
  }
}

void add_volta(WmmaPlan& plan, MatrixShape shape, MatrixRole role, Type type, MatrixOrder order) {
  for (const WmmaWideAccess& access : volta_wmma_accesses(shape, role, type, order)) {
    WmmaPlan::Moved moved{role == MatrixRole::d ? AccessKind::store : AccessKind::load, access.bytes, kFullMask, {}};
    for (size_t l = 0; l < kLanes; ++l) {
      const Element& e = access.first[l];
      moved.at[l] = order == MatrixOrder::row ? std::pair<int, int>(e.row, e.col) : std::pair<int, int>(e.col, e.row);
    }
    plan.volta.push_back(moved);
  }
}

std::shared_ptr<const WmmaPlan> wmma_plan(MatrixShape shape, MatrixRole role, Type type, MatrixOrder order) {
  using Key = std::tuple<int, int, int, MatrixRole, Type, MatrixOrder>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const WmmaPlan>> plans;  // immutable tables, made once
  const std::lock_guard lock(mutex);
  auto& plan = plans[{shape.m, shape.n, shape.k, role, type, order}];
  if (plan) return plan;
  auto access = WmmaAccess::make(shape, role, type, order);
  if (!access) return nullptr;
  auto made = std::make_shared<WmmaPlan>(WmmaPlan{*std::move(access), 0, {}, {}, {}, {}});
  made->default_stride = static_cast<uint64_t>(order == MatrixOrder::row ? made->access.cols() : made->access.rows());
  std::array<std::vector<WmmaPiece>, kLanes> by_lane;
  for (const WmmaPiece& p : made->access.pieces()) by_lane[p.lane].push_back(p);
  size_t longest = 0;
  for (const auto& lane : by_lane) longest = std::max(longest, lane.size());
  for (size_t k = 0; k < longest; ++k) {
    WmmaPlan::Round round{static_cast<uint32_t>(made->pieces.size()), 0, 0, 0, true};
    for (const auto& lane : by_lane) {
      if (k >= lane.size()) continue;
      const WmmaPiece& p = lane[k];
      round.repeats &= std::any_of(lane.begin(), lane.begin() + static_cast<ptrdiff_t>(k),
                                   [&p](const WmmaPiece& q) { return q.row == p.row && q.col == p.col && q.bits == p.bits; });
      made->pieces.push_back(p);
      round.mask |= 1u << lane[k].lane;
      round.bits = std::max<uint32_t>(round.bits, lane[k].bits);
      ++round.count;
    }
    made->rounds.push_back(round);
  }
  add_ldmatrix(*made, role, order);
  add_volta(*made, shape, role, type, order);
  plan = made;
  return plan;
}

// Element of 4 or 1 bit: a piece is a part of a byte at bit `shift` of its first byte.
uint32_t bit_shift(const WmmaPlan& plan, const WmmaPiece& p, bool row_major) {
  const auto minor = static_cast<uint32_t>(row_major ? p.col : p.row);
  return minor * static_cast<uint32_t>(plan.access.map().element_bits()) % 8;
}

void load_piece(ExecContext& ctx, const Inst& inst, const WmmaPiece& p, const uint8_t* at, uint32_t shift) {
  uint64_t raw = 0;
  std::memcpy(&raw, at, (shift + p.bits + 7) / 8);
  raw >>= shift;
  const Operand& d = inst.group(inst.op == Op::wmma_load ? 0 : 1)[p.reg];
  if (p.bits == 64) {
    ctx.reg<uint64_t>(d.slot)[p.lane] = raw;
    return;
  }
  const uint32_t keep = p.bits == 32 ? ~0u : (1u << p.bits) - 1;
  uint32_t& r = ctx.reg<uint32_t>(d.slot)[p.lane];
  r = (r & ~(keep << p.bit)) | (static_cast<uint32_t>(raw) & keep) << p.bit;
}

void store_piece(ExecContext& ctx, const Inst& inst, const WmmaPiece& p, uint8_t* at) {
  const Operand& s = inst.group(1)[p.reg];
  if (p.bits == 64) {
    std::memcpy(at, &ctx.src<uint64_t>(s)[p.lane], 8);
    return;
  }
  const uint32_t raw = ctx.src<uint32_t>(s)[p.lane] >> p.bit;
  std::memcpy(at, &raw, p.bits / 8);
}

void add_access(Effects& fx, const Access& access) {
  if (fx.more.size() <= fx.more_count) fx.more.resize(fx.more_count + 1u);
  fx.more[fx.more_count++] = access;
}

void report_moved(ExecContext& ctx, const WmmaPlan& plan, const std::vector<WmmaPlan::Moved>& accesses, uint64_t base, uint64_t stride) {
  Effects& fx = ctx.fx;
  fx.more_count = 0;
  bool first = true;
  for (const WmmaPlan::Moved& moved : accesses) {
    Access access = fx.access;
    access.kind = moved.kind;
    access.bytes = static_cast<decltype(access.bytes)>(moved.bytes);
    access.mask = moved.mask;
    for (size_t l = 0; l < kLanes; ++l)
      access.address[l] = base + (static_cast<uint64_t>(moved.at[l].first) * stride + static_cast<uint64_t>(moved.at[l].second)) *
                                     static_cast<uint64_t>(plan.access.map().element_bits()) / 8;
    if (first) fx.access = access;
    else add_access(fx, access);
    first = false;
  }
}

/// The address must be the same in all lanes (PTX ISA, "wmma.load"); each lane's own is used. aux: 1 row-major.
void run_wmma_move(ExecContext& ctx, const Inst& inst, uint32_t mask) {
  if (!ctx.converged(kFullMask, mask)) return;
  const auto& plan = *static_cast<const WmmaPlan*>(inst.plan);
  const bool load = inst.op == Op::wmma_load, row_major = inst.aux != 0;
  const Operand& address_operand = inst.operand(load ? 1 : 0);
  const uint32_t* stride = inst.group_count > 2 ? ctx.src<uint32_t>(inst.operand(2)) : nullptr;
  for_spaces(ctx, address_operand, inst.space, mask, [&](Space space, uint32_t lanes, const uint64_t* address_of) {
    std::array<uint64_t, kLanes> base;  // a copy: each round's locate() overwrites the addresses
    std::copy_n(address_of, kLanes, base.begin());
    bool first = true;
    for (const WmmaPlan::Round& round : plan.rounds) {
      std::array<uint64_t, kLanes> address{};
      std::array<const WmmaPiece*, kLanes> piece{};
      const uint32_t active = round.mask & lanes;
      if (!active) continue;
      for (uint32_t i = 0; i < round.count; ++i) {
        const WmmaPiece& p = plan.pieces[round.first + i];
        piece[p.lane] = &p;
        address[p.lane] = base[p.lane] + plan.access.byte_offset(p, stride ? stride[p.lane] : plan.default_stride);
      }
      Access saved;
      if (!first) saved = ctx.fx.access;
      Located at;
      const uint32_t bytes = std::max(1u, round.bits / 8);
      if (!locate(ctx, inst, space, address.data(), bytes, bytes, active, load ? AccessKind::load : AccessKind::store, at)) return;
      if (!ctx.addresses_only) {
        if (load) check_read(ctx, at);
        else note_write(ctx, inst, at);
        if (load || !ctx.data_unknown)
          each_lane(active, [&](int l) {
            if (load) load_piece(ctx, inst, *piece[l], at.at[l], bit_shift(plan, *piece[l], row_major));
            else store_piece(ctx, inst, *piece[l], at.at[l]);
          });
      }
      if (!first) {
        if (!round.repeats) add_access(ctx.fx, ctx.fx.access);
        ctx.fx.access = saved;
      }
      first = false;
    }
    const bool volta = ctx.generation == static_cast<uint8_t>(Generation::volta);
    const auto& instead = volta ? plan.volta : plan.ldmatrix;
    if (!instead.empty() && (volta || (load && space == Space::shared)))
      report_moved(ctx, plan, instead, base[std::countr_zero(lanes)], stride ? stride[std::countr_zero(lanes)] : plan.default_stride);
  });
}

std::string bind_wmma_move(Inst& inst, const Decoded& d, bool load) {
  inst.op = load ? Op::wmma_load : Op::wmma_store;
  inst.exec = &run_wmma_move;
  const std::string_view shape_text = d.value("shape");
  MatrixShape shape;
  if (std::sscanf(std::string(shape_text).c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) != 3) return "not a shape";
  const std::string_view role_text = d.value("role");
  const MatrixRole role = role_text == "a" ? MatrixRole::a : role_text == "b" ? MatrixRole::b : load ? MatrixRole::c : MatrixRole::d;
  inst.type = d.type();
  const MatrixOrder order = d.value("layout") == "col" ? MatrixOrder::col : MatrixOrder::row;
  inst.aux = order == MatrixOrder::row ? 1 : 0;
  const auto plan = wmma_plan(shape, role, inst.type, order);
  if (!plan) return fmt::format("wmma has no .{} with .{} for this operand", shape_text, name(inst.type));
  inst.plan = plan.get();
  if (d.module) d.module->plans.push_back(plan);
  const int data = load ? 0 : 1, address = load ? 1 : 0;
  if (auto e = expect_address(inst, address); !e.empty()) return e;
  const auto expected = static_cast<size_t>(plan->access.registers());
  if (inst.group(data).size() != expected)
    return fmt::format("operand {} has {} registers, expected {}", data + 1, inst.group(data).size(), expected);
  if (auto e = expect_group(inst, data, d, plan->access.register_bits(), false, load); !e.empty()) return e;
  if (inst.group_count > 2)
    if (auto e = expect_group(inst, 2, d, 32, false, false); !e.empty()) return e;
  inst.space = space_of(inst, d, address);
  const bool shared = inst.space == Space::shared;
  inst.timing = load     ? (!shared                  ? TimingClass::ldg
                            : plan->ldmatrix.empty() ? TimingClass::lds
                                                     : TimingClass::ldsm)
                : shared ? TimingClass::sts
                         : TimingClass::stg;
  return {};
}

std::string bind_wmma_load(Inst& inst, const Decoded& d) { return bind_wmma_move(inst, d, true); }
std::string bind_wmma_store(Inst& inst, const Decoded& d) { return bind_wmma_move(inst, d, false); }

constexpr std::string_view kShapes =
    "  .shape = { .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128 };  .layout = { .row, .col };"
    "  .ss = { .global, .shared{::cta} };";

}  // namespace

std::span<const InstDef> matrix_move_instructions() {
  static const std::string load =
      "wmma.load.role.sync.aligned.layout.shape{.ss}.type r, [p]{, stride};  .role = { .a, .b, .c };"
      "  .type = { .f16, .f32, .f64, .bf16, .tf32, .s8, .u8, .s4, .u4, .b1, .s32 };" +
      std::string(kShapes);
  static const std::string store =
      "wmma.store.role.sync.aligned.layout.shape{.ss}.type [p], r{, stride};  .role = { .d };  .type = { .f16, .f32, .f64, .s32 };" +
      std::string(kShapes);
  static const std::vector<InstDef> table = {
      {.base = "wmma",
       .syntax = load,
       .op = Op::wmma_load,
       .bind = &bind_wmma_load,
       .since = {6, 0, 70},
       .manual = "Warp Level Matrix Multiply-Accumulate: wmma.load",
       .doc = "load a matrix fragment"},
      {.base = "wmma",
       .syntax = store,
       .op = Op::wmma_store,
       .bind = &bind_wmma_store,
       .since = {6, 0, 70},
       .manual = "Warp Level Matrix Multiply-Accumulate: wmma.store",
       .doc = "store a matrix fragment"},
      {.base = "ldmatrix",
       .syntax = "ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type r, [p];  .shape = { .m8n8 };  .num = { .x1, .x2, .x4 };"
                 "  .ss = { .shared{::cta} };  .type = { .b16 };",
       .op = Op::ldmatrix,
       .bind = &bind_ldmatrix,
       .since = {6, 5, 75},
       .manual = "Warp Level Matrix Multiply-Accumulate: ldmatrix",
       .doc = "load 8x8 matrices of 16-bit elements from shared memory"},
      {.base = "ldmatrix",
       .syntax = "ldmatrix.sync.aligned.shape.num{.ss}.to.from r, [p];  .shape = { .m8n16 };  .num = { .x1, .x2, .x4 };  .ss = { .shared{::cta} };"
                 "  .to = { .b8x16 };  .from = { .b6x16_p32, .b4x16_p64 };",
       .op = Op::ldmatrix,
       .bind = &bind_ldmatrix,
       .since = {8, 6, 100},
       .manual = "Warp Level Matrix Multiply-Accumulate: ldmatrix",
       .doc = "load 8x16 matrices of 6- and 4-bit elements from shared memory into bytes"},
      {.base = "ldmatrix",
       .syntax = "ldmatrix.sync.aligned.shape.num.trans{.ss}.type r, [p];  ldmatrix.sync.aligned.shape.num.trans{.ss}.to.from r, [p];"
                 "  .shape = { .m16n16 };  .num = { .x1, .x2 };  .ss = { .shared{::cta} };  .type = { .b8 };  .to = { .b8x16 };  .from = { "
                 ".b6x16_p32, .b4x16_p64 };",
       .op = Op::ldmatrix,
       .bind = &bind_ldmatrix,
       .since = {8, 6, 100},
       .manual = "Warp Level Matrix Multiply-Accumulate: ldmatrix",
       .doc = "load transposed 16x16 matrices of 8-, 6- and 4-bit elements from shared memory into bytes"},
      {.base = "stmatrix",
       .syntax = "stmatrix.sync.aligned.shape.num.trans{.ss}.type [p], r;  .shape = { .m16n8 };  .num = { .x1, .x2, .x4 };  .ss = { .shared{::cta} };"
                 "  .type = { .b8 };",
       .op = Op::stmatrix,
       .bind = &bind_stmatrix,
       .since = {8, 6, 100},
       .manual = "Warp Level Matrix Multiply-Accumulate: stmatrix",
       .doc = "store 16x8 matrices of bytes to shared memory, by columns"},
      {.base = "stmatrix",
       .syntax = "stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r;  .shape = { .m8n8 };  .num = { .x1, .x2, .x4 };"
                 "  .ss = { .shared{::cta} };  .type = { .b16 };",
       .op = Op::stmatrix,
       .bind = &bind_stmatrix,
       .since = {7, 8, 90},
       .manual = "Warp Level Matrix Multiply-Accumulate: stmatrix",
       .doc = "store 8x8 matrices of 16-bit elements to shared memory"},
      {.base = "movmatrix",
       .syntax = "movmatrix.sync.aligned.m8n8.trans.b16 d, a;",
       .op = Op::movmatrix,
       .bind = &bind_movmatrix,
       .since = {7, 8, 75},
       .manual = "Warp Level Matrix Multiply-Accumulate: movmatrix",
       .doc = "transpose an 8x8 matrix in registers"},
  };
  return table;
}

}  // namespace tcsim::isa
