#include "isa/insn/bulk_issue.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/exec/bulk_walk.h"
#include "isa/exec/shared_watch.h"
#include "isa/insn/access.h"
#include "isa/layout/tensor_map.h"

namespace tcsim::isa {
namespace {

constexpr uint32_t kPiece = 16;         // bytes: unit of all bulk copies (PTX ISA, "cp.async.bulk")
constexpr uint32_t kMapAlignment = 64;  // of a tensor map ("tensorMap address must be aligned to 64 bytes")

/// Maps decoded lately by this thread: a kernel uses few, and uses each often.
struct CachedMap {
  TensorMapBytes bytes{};
  std::shared_ptr<const TensorMap> map;
  std::string problems;
};

const CachedMap& decoded(const uint8_t* bytes) {
  thread_local std::array<CachedMap, 8> cache;
  thread_local size_t next = 0;
  for (const CachedMap& entry : cache)
    if (entry.map && std::memcmp(entry.bytes.data(), bytes, sizeof entry.bytes) == 0) return entry;
  CachedMap& entry = cache[next];
  next = (next + 1) % cache.size();
  std::memcpy(entry.bytes.data(), bytes, sizeof entry.bytes);
  entry.map = std::make_shared<const TensorMap>(TensorMap::decode(entry.bytes));
  entry.problems = fmt::format("{}", fmt::join(entry.map->check(), "; "));
  return entry;
}

}  // namespace

bool BulkIssue::fault(const char* kind, uint64_t address, std::string text) {
  ctx_.fault(kind, lane_, address, std::move(text));
  return false;
}

uint64_t BulkIssue::address(const Operand& op) const {
  uint64_t lanes[kLanes];
  lane_addresses(ctx_, op, 1u << lane_, lanes);
  return lanes[lane_];
}

uint32_t BulkIssue::value32(const Operand& op) const { return ctx_.src<uint32_t>(op)[lane_]; }

const WindowMemory& BulkIssue::window(uint32_t rank) const {
  return ctx_.cluster_size == 1 || !ctx_.cluster_shared ? *ctx_.shared : *ctx_.cluster_shared[rank];
}

bool BulkIssue::shared(const Operand& op, bool own, SharedAddress& out, const char* what) {
  const uint64_t raw = address(op);
  out = SharedAddress::of(static_cast<uint32_t>(raw));
  if (ctx_.cluster_size == 1) {
    if (out.rank == 0) return true;
    return fault("out-of-bounds", raw, fmt::format("{} {:#x} lies outside the shared memory of the CTA", what, raw));
  }
  if (op.slot < 0 || (own && out.rank == 0)) out.rank = static_cast<uint8_t>(ctx_.cluster_rank);  // a variable's own address
  if (out.rank >= ctx_.cluster_size)
    return fault("out-of-bounds", raw, fmt::format("{} {:#x} names CTA {} of a cluster of {}", what, raw, out.rank, ctx_.cluster_size));
  if (own && out.rank != ctx_.cluster_rank)
    return fault("out-of-bounds", raw,
                 fmt::format("{} {:#x} lies in CTA {} of the cluster, expected the own one ({})", what, raw, out.rank, ctx_.cluster_rank));
  return true;
}

bool BulkIssue::size(const Operand& op) {
  copy.bytes = value32(op);
  if (copy.bytes % kPiece == 0) return true;
  return fault("misaligned", copy.bytes, fmt::format("size {} B of a bulk copy is not a multiple of {} B", copy.bytes, kPiece));
}

bool BulkIssue::global(const Operand& op, const char* what) {
  copy.global = address(op);
  if (copy.global % kPiece != 0)
    return fault("misaligned", copy.global, fmt::format("{} {:#x} is not a multiple of {} B", what, copy.global, kPiece));
  if (copy.bytes == 0 || ctx_.global->map(copy.global, copy.bytes)) return true;
  return fault("out-of-bounds", copy.global,
               fmt::format("{} {:#x} of {} bytes: {}", what, copy.global, copy.bytes, ctx_.global->describe(copy.global, copy.bytes)));
}

bool BulkIssue::mbarrier(const Operand& op, const SharedAddress& destination, bool own) {
  if (!shared(op, own, copy.mbarrier, "mbarrier")) return false;
  copy.has_mbarrier = true;
  const SharedAddress& at = copy.mbarrier;
  if (at.offset % 8 != 0) return fault("misaligned", at.offset, fmt::format("mbarrier at offset {} is not a multiple of 8 B", at.offset));
  if (!window(at.rank).contains(at.offset, 8))
    return fault("out-of-bounds", at.offset,
                 fmt::format("mbarrier at offset {} of shared memory, which has {} bytes", at.offset, window(at.rank).size()));
  if (at.rank == destination.rank || copy.multicast || (copy.pair_mbarrier && (at.rank ^ 1) == destination.rank)) return true;
  return fault("barrier-misuse", at.encode(),
               fmt::format("the mbarrier lies in CTA {} of the cluster, the destination in CTA {}: expected the same{}", at.rank, destination.rank,
                           copy.pair_mbarrier ? " or its peer" : ""));
}

bool BulkIssue::mask(const Operand& op) {
  copy.multicast = true;
  copy.cta_mask = static_cast<uint16_t>(value32(op));
  if (copy.cta_mask >> ctx_.cluster_size == 0) return true;
  return fault("out-of-bounds", copy.cta_mask, fmt::format("CTA mask {:#x} names CTAs beyond a cluster of {}", copy.cta_mask, ctx_.cluster_size));
}

bool BulkIssue::in_window(const SharedAddress& at, uint32_t align, const char* what) {
  if (at.offset % align != 0) {
    const std::string why = copy.map && align > kPiece ? fmt::format(" (swizzle {})", name(copy.map->swizzle)) : "";
    return fault("misaligned", at.offset, fmt::format("{} at offset {} of shared memory is not a multiple of {} B{}", what, at.offset, align, why));
  }
  if (window(at.rank).contains(at.offset, copy.bytes)) return true;
  return fault("out-of-bounds", at.offset,
               fmt::format("{}: {} bytes at offset {} of shared memory, which has {} bytes", what, copy.bytes, at.offset, window(at.rank).size()));
}

bool BulkIssue::destination(uint32_t align) {
  if (!copy.multicast) return in_window(copy.shared, align, "destination");
  for (uint32_t rank = 0; rank < ctx_.cluster_size; ++rank)
    if ((copy.cta_mask >> rank & 1) && !in_window({copy.shared.offset, static_cast<uint8_t>(rank)}, align, "destination")) return false;
  return true;
}

void BulkIssue::tell_watches() {
  using Kind = BulkCopy::Kind;
  if (copy.kind == Kind::prefetch) return;
  if (copy.kind != Kind::load)
    if (SharedWatch* watch = ctx_.shared->watch()) watch->bulk_reads(ctx_, copy.inst, copy);
  for (uint32_t targets = copy.targets(); targets; targets &= targets - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(targets));
    if (rank >= ctx_.cluster_size) return;  // the program's fault, which is reported when the copy is issued
    if (SharedWatch* watch = window(rank).watch()) watch->bulk_writes(ctx_, copy.inst, copy, copy.target_offset());
  }
}

bool BulkIssue::read_map(uint64_t at) {
  if (at % kMapAlignment != 0) return fault("misaligned", at, fmt::format("tensor map at {:#x} is not a multiple of {} B", at, kMapAlignment));
  uint64_t offset = at;
  Space space;
  same_space(&offset, 1, space);
  const uint8_t* bytes = nullptr;
  constexpr uint32_t kBytes = sizeof(TensorMapBytes);
  const auto in_bank = [&](const uint8_t* bank, uint32_t size) {
    return bank && offset <= size && kBytes <= size - offset ? bank + offset : nullptr;
  };
  if (space == Space::param) bytes = in_bank(ctx_.params, ctx_.param_bytes);
  else if (space == Space::constant) bytes = in_bank(ctx_.constants, ctx_.constant_bytes);
  else if (space == Space::global) bytes = ctx_.global->map(at, kBytes);
  else return fault("bad-tensormap", at, fmt::format("tensor map at {:#x} lies in {} memory, expected .param, .const or .global", at, name(space)));
  if (!bytes)
    return fault("out-of-bounds", at,
                 fmt::format("tensor map of {} bytes at {:#x}: {}", kBytes, at,
                             space == Space::global ? ctx_.global->describe(at, kBytes) : fmt::format("outside {} memory", name(space))));
  const CachedMap& found = decoded(bytes);
  if (!found.problems.empty()) return fault("bad-tensormap", at, fmt::format("tensor map at {:#x}: {}", at, found.problems));
  copy.map = found.map;
  copy.map_address = at;
  return true;
}

bool BulkIssue::rows_mapped() {
  uint64_t bad = 0, bad_bytes = 0;
  for_each_row(copy, [&](const BulkRow& row) {
    if (bad_bytes == 0 && row.bytes > 0 && !ctx_.global->map(row.global, row.bytes)) bad = row.global, bad_bytes = row.bytes;
  });
  if (bad_bytes == 0) return true;
  return fault("out-of-bounds", bad,
               fmt::format("box at ({}) of the tensor map at {:#x}: {} bytes at address {:#x}: {}",
                           fmt::join(copy.coordinate.begin(), copy.coordinate.begin() + copy.map->rank, ", "), copy.map_address, bad_bytes, bad,
                           ctx_.global->describe(bad, bad_bytes)));
}

bool BulkIssue::tensor(std::span<const Operand> group, std::span<const Operand> offsets, bool im2col) {
  if (!read_map(address(group[0]))) return false;
  const TensorMap& map = *copy.map;
  const size_t rank = group.size() - 1;
  if (map.rank != rank)
    return fault("bad-tensormap", copy.map_address, fmt::format("the tensor map has {} dimensions, the instruction is .{}d", map.rank, rank));
  if ((map.mode == TensorMap::Mode::im2col) != im2col)
    return fault("bad-tensormap", copy.map_address,
                 im2col ? "the tensor map is a tiled one, the instruction is .im2col" : "the tensor map is an im2col one, the instruction is .tile");
  for (size_t d = 0; d < rank; ++d) copy.coordinate[d] = static_cast<int32_t>(value32(group[d + 1]));
  for (size_t d = 0; d < offsets.size(); ++d) copy.im2col_offset[d] = static_cast<uint16_t>(value32(offsets[d]));
  copy.bytes = map.box_bytes();
  return rows_mapped();
}

void make_generic(const Inst& inst, int group) {
  Operand& op = const_cast<Operand&>(inst.operand(group));  // operands live in the kernel's operand_store, which bind may prepare
  if (op.slot >= 0) return;
  if (op.space == Space::param) op.value += static_cast<int64_t>(kParamWindow);
  if (op.space == Space::constant) op.value += static_cast<int64_t>(kConstantWindow);
  if (op.space == Space::shared) op.value += static_cast<int64_t>(kSharedWindow);
}

}  // namespace tcsim::isa
