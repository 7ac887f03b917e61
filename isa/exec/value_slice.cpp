#include "isa/exec/value_slice.h"

#include <algorithm>

namespace tcsim::isa {
namespace {

bool has_destination(const Inst& inst) {
  switch (inst.op) {
    case Op::st:
    case Op::red:
    case Op::prefetch:
    case Op::prefetchu:
    case Op::applypriority:
    case Op::discard:
    case Op::fence:
    case Op::membar:
    case Op::cp_async:
    case Op::cp_async_commit:
    case Op::cp_async_wait:
    case Op::cp_async_mbarrier_arrive:
    case Op::bar_sync:
    case Op::bar_arrive:
    case Op::bar_warp:
    case Op::mbarrier_init:
    case Op::mbarrier_inval:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::griddepcontrol:
    case Op::nanosleep:
    case Op::bra:
    case Op::brx:
    case Op::call:
    case Op::ret:
    case Op::exit:
    case Op::trap:
    case Op::brkpt:
    case Op::pmevent:
    case Op::label_nop:
    case Op::stackrestore:
    case Op::setmaxnreg:
    case Op::wmma_store:
    case Op::stmatrix:
    case Op::fence_proxy:
    case Op::barrier_cluster_arrive:
    case Op::barrier_cluster_wait:
    case Op::wgmma_fence:
    case Op::wgmma_commit:
    case Op::wgmma_wait:
    case Op::cp_async_bulk_commit:
    case Op::cp_async_bulk_wait:
    case Op::tcgen05_alloc:
    case Op::tcgen05_dealloc:
    case Op::tcgen05_relinquish:
    case Op::tcgen05_st:
    case Op::tcgen05_wait:
    case Op::tcgen05_cp:
    case Op::tcgen05_shift:
    case Op::tcgen05_mma:
    case Op::tcgen05_commit:
    case Op::tcgen05_fence:
    case Op::clusterlaunchcontrol_try_cancel: return false;
    default:
      // mbarrier.arrive has a form without the state.
      return inst.group_count > 0 && inst.groups[0].count > 0 && inst.operand(0).kind != Operand::Kind::address;
  }
}

bool is_value(const Operand& op) { return op.kind == Operand::Kind::reg || op.kind == Operand::Kind::pred; }

/// First group whose operands must be known (besides addresses), and one past the last; data otherwise.
std::pair<int, int> critical_groups(const Inst& inst) {
  const int n = inst.group_count;
  switch (inst.op) {
    case Op::shfl:
    case Op::vote:
    case Op::match:
    case Op::redux: return {n - 1, n};    // member mask
    case Op::bar_red: return {1, n - 1};  // all but the predicate
    case Op::wmma_load:
    case Op::wmma_store: return {2, n};  // stride
    case Op::elect:
    case Op::bar_sync:
    case Op::bar_arrive:
    case Op::bar_warp:
    case Op::brx:
    case Op::nanosleep:
    case Op::cp_async:
    case Op::cp_async_commit:
    case Op::cp_async_wait:
    case Op::cp_async_mbarrier_arrive:
    case Op::mbarrier_init:
    case Op::mbarrier_inval:
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait:
    case Op::mbarrier_pending_count:
    case Op::alloca:
    case Op::stackrestore:
    case Op::cp_async_bulk:
    case Op::cp_async_bulk_tensor:
    case Op::cp_reduce_async_bulk:
    case Op::cp_reduce_async_bulk_tensor:
    case Op::cp_async_bulk_prefetch:
    case Op::cp_async_bulk_prefetch_tensor:
    case Op::tensormap_replace:
    case Op::tensormap_cp_fenceproxy:
    case Op::tcgen05_alloc:
    case Op::tcgen05_dealloc:
    case Op::tcgen05_cp:
    case Op::tcgen05_shift:
    case Op::tcgen05_mma:
    case Op::tcgen05_commit:
    case Op::clusterlaunchcontrol_try_cancel: return {0, n};
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp: return {2, n};  // B's descriptor and scale-d; A's registers or descriptor: below
    default: return {n, n};
  }
}

bool is_wgmma(Op op) { return op == Op::wgmma_mma || op == Op::wgmma_mma_sp; }

/// Their results are matrix results, wherever they come from: tcgen05.ld's lie in Tensor Memory.
bool is_matrix_product(Op op) { return op == Op::mma || op == Op::mma_sp || op == Op::wmma_mma || op == Op::tcgen05_ld || is_wgmma(op); }

/// Instructions that act on more than their destinations: they run whether or not a result is needed.
bool has_effect(Op op) {
  switch (op) {
    case Op::shfl:
    case Op::vote:
    case Op::match:
    case Op::redux:
    case Op::elect:
    case Op::activemask:
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_test_wait:
    case Op::mbarrier_try_wait:
    case Op::bar_red:
    case Op::alloca:
    case Op::stacksave:
    case Op::wgmma_mma:
    case Op::wgmma_mma_sp: return true;
    default: return false;
  }
}

bool moves_data(Op op) {
  switch (op) {
    case Op::ld:
    case Op::ldu:
    case Op::st:
    case Op::atom:
    case Op::red:
    case Op::wmma_load:
    case Op::wmma_store:
    case Op::ldmatrix:
    case Op::stmatrix:
    case Op::cp_async:
    case Op::tcgen05_ld:
    case Op::tcgen05_st: return true;
    default: return false;
  }
}

bool is_data_space(Space s) { return s != Space::param && s != Space::constant && s != Space::none; }

struct Spaces {
  bool global = false, shared = false, local = false;
  bool any(Space s) const {
    switch (s) {
      case Space::global: return global;
      case Space::shared:
      case Space::shared_cluster: return shared;
      case Space::local: return local;
      case Space::generic: return global || shared || local;
      default: return false;
    }
  }
  bool add(Space s) {
    const Spaces before = *this;
    if (s == Space::global || s == Space::generic) global = true;
    if (s == Space::shared || s == Space::shared_cluster || s == Space::generic) shared = true;
    if (s == Space::local || s == Space::generic) local = true;
    return global != before.global || shared != before.shared || local != before.local;
  }
};

/// Loads from shared memory that read just what tcgen05.alloc or clusterlaunchcontrol.try_cancel stored, which always run. So that such
/// a load does not make all of shared memory needed, addresses are compared as expressions: a register that is defined once, plus a
/// constant.
class AddressSlots {
 public:
  AddressSlots(const Kernel& kernel, const std::vector<InstUses>& uses) : kernel_(kernel), definition_(kernel.slot_count, kNone) {
    for (uint32_t i = 0; i < uses.size(); ++i)
      for (const Operand* d : uses[i].defs)
        if (d->kind == Operand::Kind::reg) definition_[static_cast<size_t>(d->slot)] = definition_[static_cast<size_t>(d->slot)] == kNone ? i : kMany;
    for (const Inst& inst : kernel.insts)
      if (inst.op == Op::tcgen05_alloc || inst.op == Op::clusterlaunchcontrol_try_cancel) slots_.push_back(resolve(inst.operand(0)));
  }
  bool read_by(const Inst& inst) const {
    if (slots_.empty() || inst.op != Op::ld || inst.space != Space::shared) return false;
    const Address at = resolve(inst.operand(1));
    return std::any_of(slots_.begin(), slots_.end(), [&](const Address& a) { return a.slot == at.slot && a.offset == at.offset; });
  }

 private:
  static constexpr uint32_t kNone = ~0u, kMany = ~0u - 1;
  struct Address {
    int32_t slot = -1;
    int64_t offset = 0;
  };  // slot -1: the constant

  Address resolve(const Operand& op) const {
    Address a{op.kind == Operand::Kind::constant ? -1 : op.slot, op.kind == Operand::Kind::reg ? 0 : op.value};
    for (int depth = 0; a.slot >= 0 && depth < 32; ++depth) {
      const uint32_t i = definition_[static_cast<size_t>(a.slot)];
      if (i == kNone || i == kMany || kernel_.insts[i].guard >= 0) break;
      const Inst& d = kernel_.insts[i];
      const bool copies = d.op == Op::mov || d.op == Op::cvt, adds = d.op == Op::add && d.operand(2).kind == Operand::Kind::constant;
      if ((!copies && !adds) || d.group(0).size() != 1 || d.group(1).size() != 1) break;
      const Operand& from = d.operand(1);
      if (from.kind != Operand::Kind::reg && from.kind != Operand::Kind::constant) break;
      if (adds) a.offset += d.operand(2).value;
      if (from.kind == Operand::Kind::constant) a.offset += from.value;
      a.slot = from.kind == Operand::Kind::constant ? -1 : from.slot;
    }
    return a;
  }

  const Kernel& kernel_;
  std::vector<uint32_t> definition_;
  std::vector<Address> slots_;
};

class Slicer {
 public:
  explicit Slicer(const Kernel& kernel) : kernel_(kernel) {
    for (const Inst& inst : kernel.insts) uses_.push_back(uses_of(inst));
    const AddressSlots slots(kernel, uses_);
    for (size_t i = 0; i < uses_.size(); ++i)
      if (slots.read_by(kernel.insts[i])) uses_[i].from = Space::none;
    slice_.tag_count = kernel.slot_count + kernel.pred_count + 1;
    needed_.assign(slice_.tag_count, 0);
    unknown_.assign(slice_.tag_count, 0);
  }

  ValueSlice run() {
    while (needed_pass()) {}
    while (unknown_pass()) {}
    classify();
    slice_.shared_needed = memory_.shared;
    slice_.global_needed = memory_.global;
    return std::move(slice_);
  }

 private:
  uint32_t tag(const Operand& op) const {
    return op.kind == Operand::Kind::pred ? kernel_.slot_count + static_cast<uint32_t>(op.slot) : static_cast<uint32_t>(op.slot);
  }
  uint32_t guard_tag(const Inst& inst) const { return kernel_.slot_count + static_cast<uint32_t>(inst.guard); }
  uint32_t carry_tag() const { return slice_.tag_count - 1; }

  bool result_needed(size_t i) const {
    for (const Operand* d : uses_[i].defs)
      if (needed_[tag(*d)]) return true;
    return uses_[i].writes_carry && needed_[carry_tag()];
  }
  bool store_needed(size_t i) const { return uses_[i].stores && memory_.any(uses_[i].to); }

  bool need(uint32_t t) {
    if (needed_[t]) return false;
    needed_[t] = 1;
    return true;
  }

  bool needed_pass() {
    bool changed = false;
    for (size_t i = uses_.size(); i-- > 0;) {
      const Inst& inst = kernel_.insts[i];
      const InstUses& u = uses_[i];
      const bool data = result_needed(i) || store_needed(i);
      const bool runs = data || u.defs.empty() || has_effect(inst.op) || moves_data(inst.op);
      if (runs) {
        for (const Operand* op : u.critical) changed |= need(tag(*op));
        if (inst.guard >= 0) changed |= need(guard_tag(inst));
      }
      if (data && !is_matrix_product(inst.op)) {
        for (const Operand* op : u.data) changed |= need(tag(*op));
        if (u.reads_carry) changed |= need(carry_tag());
        if (u.loads) changed |= memory_.add(u.from);
      }
    }
    return changed;
  }

  bool sources_unknown(size_t i) const {
    const Inst& inst = kernel_.insts[i];
    const InstUses& u = uses_[i];
    if (is_matrix_product(inst.op) || u.loads) return true;
    for (const auto* list : {&u.data, &u.critical})
      for (const Operand* op : *list)
        if (unknown_[tag(*op)]) return true;
    return (u.reads_carry && unknown_[carry_tag()]) || (inst.guard >= 0 && unknown_[guard_tag(inst)]);
  }

  bool unknown_pass() {
    bool changed = false;
    for (size_t i = 0; i < uses_.size(); ++i) {
      if (!sources_unknown(i)) continue;
      for (const Operand* d : uses_[i].defs) changed |= !unknown_[tag(*d)], unknown_[tag(*d)] = 1;
      if (uses_[i].writes_carry) changed |= !unknown_[carry_tag()], unknown_[carry_tag()] = 1;
    }
    return changed;
  }

  void classify() {
    slice_.run.assign(uses_.size(), TimingRun::run);
    slice_.checks.resize(uses_.size());
    for (size_t i = 0; i < uses_.size(); ++i) {
      const Inst& inst = kernel_.insts[i];
      const InstUses& u = uses_[i];
      const bool data = result_needed(i) || store_needed(i);
      TimingRun& run = slice_.run[i];
      if (data || u.defs.empty() || has_effect(inst.op)) {
        // A result that may be unknown can become known again: also such definitions need the tags.
        bool tagged = sources_unknown(i);
        for (const Operand* d : u.defs) tagged |= needed_[tag(*d)] && unknown_[tag(*d)];
        run = tagged ? TimingRun::checked : TimingRun::run;
      } else {
        run = TimingRun::skip;
      }
      const bool idle = !data && moves_data(inst.op) && (is_data_space(inst.space) || inst.op == Op::tcgen05_ld || inst.op == Op::tcgen05_st);
      if (idle) run = critical_unknown(i) ? TimingRun::checked : TimingRun::addresses;
      if (run == TimingRun::checked) fill_checks(i, idle);
    }
  }

  bool critical_unknown(size_t i) const {
    for (const Operand* op : uses_[i].critical)
      if (unknown_[tag(*op)]) return true;
    return kernel_.insts[i].guard >= 0 && unknown_[guard_tag(kernel_.insts[i])];
  }

  void fill_checks(size_t i, bool idle) {
    ValueSlice::Checks& c = slice_.checks[i];
    for (const Operand* op : uses_[i].critical) c.critical.push_back(tag(*op));
    if (kernel_.insts[i].guard >= 0) c.critical.push_back(guard_tag(kernel_.insts[i]));
    c.idle = idle;
    for (const Operand* op : uses_[i].data) c.data.push_back(tag(*op));
    if (uses_[i].reads_carry) c.data.push_back(carry_tag());
    for (const Operand* op : uses_[i].defs) c.defs.push_back(tag(*op));
    if (uses_[i].writes_carry) c.defs.push_back(carry_tag());
  }

  const Kernel& kernel_;
  std::vector<InstUses> uses_;
  std::vector<uint8_t> needed_, unknown_;
  Spaces memory_;  // spaces that a needed value is loaded from
  ValueSlice slice_;
};

}  // namespace

InstUses uses_of(const Inst& inst) {
  InstUses u;
  const bool dest = has_destination(inst);
  const auto [first_critical, end_critical] = critical_groups(inst);
  for (int g = 0; g < inst.group_count; ++g) {
    for (const Operand& op : inst.group(g)) {
      if (op.kind == Operand::Kind::address) {
        if (op.slot >= 0) u.critical.push_back(&op);
        continue;
      }
      if (!is_value(op)) continue;
      if (g == 0 && dest) u.defs.push_back(&op);
      else if (g == 1 && is_wgmma(inst.op) && op.bit_width == 64) u.critical.push_back(&op);  // A's descriptor
      else if (g >= first_critical && g < end_critical) u.critical.push_back(&op);
      else u.data.push_back(&op);
    }
  }
  const bool cc = inst.text.find(".cc") != std::string_view::npos;
  u.writes_carry = cc && (inst.op == Op::add || inst.op == Op::sub || inst.op == Op::addc || inst.op == Op::subc || inst.op == Op::madc ||
                          inst.op == Op::mad_lo || inst.op == Op::mad_hi);
  u.reads_carry = inst.op == Op::addc || inst.op == Op::subc || inst.op == Op::madc;
  switch (inst.op) {
    case Op::ld:
    case Op::ldu:
    case Op::ldmatrix:
    case Op::wmma_load:
      u.loads = is_data_space(inst.space);
      u.from = inst.space;
      break;
    case Op::st:
    case Op::stmatrix:
    case Op::wmma_store:
      u.stores = is_data_space(inst.space);
      u.to = inst.space;
      break;
    case Op::atom:
    case Op::red:
      u.loads = u.stores = true;
      u.from = u.to = inst.space;
      break;
    case Op::cp_async:
      u.loads = u.stores = true;
      u.from = Space::global;
      u.to = Space::shared;
      break;
    case Op::cp_async_bulk:
    case Op::cp_async_bulk_tensor:  // either way
    case Op::cp_reduce_async_bulk:
    case Op::cp_reduce_async_bulk_tensor:
    case Op::tensormap_replace:
    case Op::tensormap_cp_fenceproxy:
      u.loads = u.stores = true;
      u.from = u.to = Space::generic;
      break;
    case Op::st_async:
    case Op::red_async:
      u.stores = true;
      u.to = Space::shared;
      break;
    default: break;
  }
  return u;
}

ValueSlice value_slice(const Kernel& kernel) { return Slicer(kernel).run(); }

}  // namespace tcsim::isa
