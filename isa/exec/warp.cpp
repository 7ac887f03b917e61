#include "isa/exec/warp.h"

#include <algorithm>
#include <bit>

#include "isa/check.h"
#include "isa/exec/value_slice.h"

namespace tcsim::isa {

Control Warp::handle_control(const ProgramEntry& entry, uint32_t mask) {
  const Control control = ctx.fx.control;
  const Inst& inst = *entry.inst;
  if (control != Control::trap && control != Control::warp_barrier)
    TC_CHECK(&entry + 1 == entries_ + first_[pc_ + 1], "'{}' is not the last instruction of its step", inst.text);
  switch (control) {
    case Control::branch:
      ctx.fx.control = Control::next;
      if (inst.op == Op::brx) branch_indexed(inst, mask);
      else branch(inst, mask);
      return ctx.fx.control;
    case Control::exit:
      ctx.fx.control = Control::next;
      exit_lanes(mask);
      return Control::next;
    case Control::warp_barrier:
      ctx.fx.control = Control::next;
      wait_for_members(entry, mask);
      return Control::next;
    case Control::async_commit:
    case Control::async_arrive:
    case Control::bulk_commit:
    case Control::wgmma_fence:
    case Control::wgmma_commit:
    case Control::cluster_arrive:
    case Control::launch_cancel:
      ctx.fx.lanes = mask;
      advance();
      return control;
    case Control::barrier:
    case Control::async_wait:
    case Control::mbarrier_wait:
    case Control::bulk_wait:
    case Control::wgmma_wait:
    case Control::cluster_wait:
    case Control::register_count:
    case Control::dependents:
    case Control::tensor_wait:
    case Control::sleep:
      keep_only(mask);
      ++pc_;
      // The caller may block the split before it arrives at its join, so the arrival waits for the next step().
      if (pc_ == join_pc_) special_ = pending_arrival_ = true;
      return control;
    case Control::tensor_alloc:  // runs again when the caller unblocks it
      keep_only(mask);
      resume_ = static_cast<uint32_t>(&entry - (entries_ + first_[pc_]));
      special_ = resume_ != 0;
      return control;
    case Control::trap: ctx.fx.lanes = mask; return control;
    case Control::next: break;
  }
  return control;
}

Control Warp::step_special() {
  if (pending_arrival_) {
    pending_arrival_ = false;
    special_ = resume_ != 0;
    ctx.fx.reset();
    ctx.active = last_active_ = active_;
    arrive_at_join();
    return Control::next;
  }
  const ProgramEntry* from = entries_ + first_[pc_] + resume_;
  resume_ = 0;
  special_ = false;
  return run(from);
}

void Warp::advance_slow() {
  if (pc_ == join_pc_) {
    arrive_at_join();
    return;
  }
  budget_ = kReconvergePatience;
  if (splits_.size() == 1) return;
  // The others have waited long enough: those at a join go on, those that could run get their turn.
  save_current();
  release_reconverging();
  choose();
}

void Warp::save_current() {
  Split& s = splits_[current_];
  s.pc = pc_;
  s.mask = active_;
  s.resume = resume_;
}

void Warp::make_current(size_t i) {
  const Split& s = splits_[i];
  current_ = i;
  pc_ = s.pc;
  active_ = s.mask;
  resume_ = s.resume;
  special_ = resume_ != 0;
  pending_arrival_ = false;
  join_pc_ = s.join >= 0 ? joins_[static_cast<size_t>(s.join)].pc : kNoJoin;
  runnable_ = true;
}

void Warp::choose() {
  if (splits_.size() > 1) merge_equal();
  const auto try_running = [this] {
    for (size_t k = 1; k <= splits_.size(); ++k) {
      const size_t i = (current_ + k) % splits_.size();
      if (splits_[i].state != Split::State::running) continue;
      make_current(i);
      return true;
    }
    return false;
  };
  runnable_ = false;
  if (splits_.empty() || try_running()) return;
  // Nobody runs. Lanes that wait for memory or sleep come back by themselves; lanes at a barrier may need those that
  // wait at a join.
  for (const Split& s : splits_)
    if (s.state == Split::State::outside && s.reason != Control::barrier) return;
  release_reconverging();
  try_running();
}

int32_t Warp::new_join(uint32_t pc, uint32_t lanes, int32_t parent) {
  for (size_t i = 0; i < joins_.size(); ++i)
    if (joins_[i].lanes == 0) {
      joins_[i] = {pc, lanes, parent};
      return static_cast<int32_t>(i);
    }
  joins_.push_back({pc, lanes, parent});
  return static_cast<int32_t>(joins_.size()) - 1;
}

void Warp::place(Split& s) {
  const bool at_join = s.resume == 0 && s.join >= 0 && joins_[static_cast<size_t>(s.join)].pc == s.pc;
  s.state = at_join ? Split::State::reconverging : Split::State::running;
}

int32_t Warp::join_for(const Inst& inst) {
  const int32_t outer = splits_[current_].join;
  if (inst.reconverge < 0) return outer;
  const uint32_t pc = step_at(inst.reconverge);
  // A loop's exit branch meets the same join in each iteration.
  if (outer >= 0 && joins_[static_cast<size_t>(outer)].pc == pc) return outer;
  return new_join(pc, active_, outer);
}

void Warp::branch(const Inst& inst, uint32_t taken) {
  const uint32_t target = step_at(inst.target);
  const uint32_t others = active_ & ~taken;
  if (!others) {
    pc_ = target;
    if (pc_ == join_pc_ || --budget_ == 0) advance_slow();
    return;
  }
  const int32_t join = join_for(inst);
  splits_[current_] = {others, pc_ + 1, join};
  splits_.push_back({taken, target, join});
  place(splits_[current_]);
  place(splits_.back());
  budget_ = kReconvergePatience;
  complete_joins();
  current_ = current_ == 0 ? splits_.size() - 1 : current_ - 1;  // the fall-through side first
  choose();
}

void Warp::branch_indexed(const Inst& inst, uint32_t mask) {
  const uint32_t* index = ctx.src<uint32_t>(inst.operand(0));
  const auto labels = inst.group(1);
  const uint32_t others = active_ & ~mask;
  const int32_t join = join_for(inst);
  const size_t at = current_;
  bool first = true;
  const auto add = [&](uint32_t lanes, uint32_t pc) {
    if (first) splits_[at] = {lanes, pc, join};
    else splits_.push_back({lanes, pc, join});
    place(first ? splits_[at] : splits_.back());
    first = false;
  };
  for (uint32_t rest = mask; rest;) {
    const uint32_t i = index[std::countr_zero(rest)];
    uint32_t same = 0;
    for (uint32_t m = rest; m; m &= m - 1)
      if (index[std::countr_zero(m)] == i) same |= m & -m;
    rest &= ~same;
    if (i >= labels.size()) {
      ctx.fault("illegal-instruction", std::countr_zero(same), i, fmt::format("branch index {} of a table of {} labels", i, labels.size()));
      return;
    }
    add(same, step_at(static_cast<int32_t>(labels[i].value)));
  }
  if (others) add(others, pc_ + 1);
  budget_ = kReconvergePatience;
  complete_joins();
  current_ = at == 0 || at >= splits_.size() ? splits_.size() - 1 : at - 1;
  choose();
}

void Warp::exit_lanes(uint32_t lanes) {
  live_ &= ~lanes;
  ctx.live = live_;
  active_ &= ~lanes;
  if (live_ == 0) {
    splits_.clear();
    joins_.clear();
    runnable_ = false;
    return;
  }
  for (Join& j : joins_) j.lanes &= ~lanes;
  // Members that exited are no longer waited for: those who wait look again.
  for (Split& s : splits_)
    if (s.state == Split::State::warp_barrier) s.state = Split::State::running;
  if (active_) {
    ++pc_;
    save_current();
    place(splits_[current_]);
  } else {
    splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(current_));
    if (current_ > 0) --current_;
  }
  complete_joins();
  choose();
}

/// A control concerns the lanes that executed: the others of the split go on behind it.
void Warp::keep_only(uint32_t mask) {
  ctx.fx.lanes = mask;
  if (mask != active_) {
    const uint32_t others = active_ & ~mask;
    active_ = mask;
    split_off(others, pc_ + 1, 0);
  }
  last_active_ = mask;
}

void Warp::split_off(uint32_t others, uint32_t pc, uint32_t resume) {
  Split s{others, pc, splits_[current_].join};
  s.resume = resume;
  place(s);
  splits_.push_back(s);
  if (s.state == Split::State::reconverging) complete_joins();
}

void Warp::wait_for_members(const ProgramEntry& entry, uint32_t mask) {
  const uint32_t ran = static_cast<uint32_t>(&entry - (entries_ + first_[pc_]));
  if (mask != active_) {  // lanes whose guard is false do not take part
    const uint32_t others = active_ & ~mask;
    const bool last = &entry + 1 == entries_ + first_[pc_ + 1];
    active_ = mask;
    split_off(others, last ? pc_ + 1 : pc_, last ? 0 : ran + 1);
  }
  save_current();
  Split& s = splits_[current_];
  s.state = Split::State::warp_barrier;
  s.resume = ran;
  s.inst = entry.index;
  s.members = ctx.fx.lanes;
  // Lanes that wait at the same instruction look again together.
  for (size_t i = splits_.size(); i-- > 0;) {
    const Split& other = splits_[i];
    if (i == current_ || other.state != Split::State::warp_barrier || other.pc != pc_ || other.resume != ran) continue;
    merge(current_, i);
    splits_[current_].state = Split::State::running;
  }
  complete_joins();
  if (splits_[current_].state == Split::State::warp_barrier && entry.inst->op == Op::bar_warp) release_warp_barrier(splits_[current_].members);
  budget_ = kReconvergePatience;
  choose();
}

bool Warp::release_warp_barrier(uint32_t members) {
  // bar.warp.sync may be reached at different instructions (PTX ISA, "bar.warp.sync").
  const auto waits = [&](const Split& s) {
    return s.state == Split::State::warp_barrier && s.members == members && program_->kernel->insts[s.inst].op == Op::bar_warp;
  };
  uint32_t here = 0;
  for (const Split& s : splits_)
    if (waits(s)) here |= s.mask;
  if (members & live_ & ~here) return false;
  for (Split& s : splits_) {
    if (!waits(s)) continue;
    const uint32_t next = s.resume + 1;
    const bool last = first_[s.pc] + next == first_[s.pc + 1];
    s.pc += last ? 1 : 0;
    s.resume = last ? 0 : next;
    place(s);
  }
  complete_joins();
  return true;
}

void Warp::merge(size_t into, size_t from) {
  Split& a = splits_[into];
  Split& b = splits_[from];
  if (a.join != b.join) {
    // They meet earlier than their joins: both leave the joins that are not common to them.
    const auto is_ancestor = [this](int32_t join, int32_t of) {
      for (; of >= 0; of = joins_[static_cast<size_t>(of)].parent)
        if (of == join) return true;
      return join < 0;
    };
    int32_t common = a.join;
    while (!is_ancestor(common, b.join)) common = joins_[static_cast<size_t>(common)].parent;
    for (Split* s : {&a, &b}) {
      for (int32_t j = s->join; j != common; j = joins_[static_cast<size_t>(j)].parent) joins_[static_cast<size_t>(j)].lanes &= ~s->mask;
      s->join = common;
    }
  }
  a.mask |= b.mask;
  splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(from));
  if (current_ > from) --current_;
  if (current_ < splits_.size() && current_ == (into > from ? into - 1 : into)) active_ = splits_[current_].mask;
}

void Warp::merge_equal() {
  for (size_t i = 0; i < splits_.size(); ++i)
    for (size_t k = splits_.size(); k-- > i + 1;) {
      const Split& a = splits_[i];
      const Split& b = splits_[k];
      if (a.state == Split::State::running && b.state == a.state && a.pc == b.pc && a.join == b.join && a.resume == b.resume) merge(i, k);
    }
}

void Warp::arrive_at_join() {
  save_current();
  splits_[current_].state = Split::State::reconverging;
  splits_[current_].inst = last_inst_;
  budget_ = kReconvergePatience;
  complete_joins();
  choose();
}

void Warp::complete_joins() {
  for (bool again = true; again;) {
    again = false;
    for (size_t j = 0; j < joins_.size() && !again; ++j) {
      Join& join = joins_[j];
      if (join.lanes == 0) continue;
      uint32_t here = 0;
      for (const Split& s : splits_)
        if (s.state == Split::State::reconverging && s.join == static_cast<int32_t>(j)) here |= s.mask;
      if (here != join.lanes) continue;
      size_t first = splits_.size();
      for (size_t i = splits_.size(); i-- > 0;) {
        if (splits_[i].state != Split::State::reconverging || splits_[i].join != static_cast<int32_t>(j)) continue;
        if (first < splits_.size()) {
          splits_[i].mask |= splits_[first].mask;
          splits_.erase(splits_.begin() + static_cast<ptrdiff_t>(first));
          if (current_ >= first && current_ > 0) --current_;
        }
        first = i;
      }
      splits_[first].join = join.parent;
      join.lanes = 0;
      place(splits_[first]);
      again = true;
    }
  }
}

void Warp::release_reconverging() {
  for (Split& s : splits_) {
    while (s.state == Split::State::reconverging) {
      Join& j = joins_[static_cast<size_t>(s.join)];
      j.lanes &= ~s.mask;
      s.join = j.parent;
      place(s);
    }
  }
  complete_joins();
}

void Warp::block() {
  save_current();
  Split& s = splits_[current_];
  s.state = Split::State::outside;
  s.reason = ctx.fx.control;
  s.inst = last_inst_;
  s.wait = ctx.fx.wait;
  special_ = pending_arrival_ = false;
  budget_ = kReconvergePatience;
  choose();
}

void Warp::write_red(uint32_t inst_index, uint32_t lanes, uint32_t result) {
  const Inst& inst = program_->kernel->insts[inst_index];
  if (inst.op != Op::bar_red && inst.op != Op::mbarrier_try_wait) return;
  const Operand& d = inst.operand(0);
  if (d.kind == Operand::Kind::pred) {
    ctx.set_pred(d.slot, result ? kFullMask : 0, lanes);
  } else if (d.kind == Operand::Kind::reg) {
    uint32_t* r = ctx.reg<uint32_t>(d.slot);
    for (uint32_t m = lanes; m; m &= m - 1) r[std::countr_zero(m)] = result;
  }
}

void Warp::unblock(uint32_t lanes, uint32_t red_result) {
  uint32_t woken = 0;
  for (size_t i = 0, n = splits_.size(); i < n; ++i) {
    if (splits_[i].state != Split::State::outside || !(splits_[i].mask & lanes)) continue;
    if (splits_[i].mask & ~lanes) {
      Split rest = splits_[i];
      rest.mask &= ~lanes;
      splits_[i].mask &= lanes;
      splits_.push_back(rest);
    }
    woken |= splits_[i].mask;
    write_red(splits_[i].inst, splits_[i].mask, red_result);
    place(splits_[i]);
  }
  if (!woken) {  // not blocked: it completed the barrier itself
    write_red(last_inst_, lanes & last_active_, red_result);
    return;
  }
  if (runnable_) save_current();
  const bool running = runnable_;
  const uint32_t mask = active_;
  complete_joins();
  if (!running) {
    choose();
    return;
  }
  // The current split goes on; its place in the list may have changed.
  for (size_t i = 0; i < splits_.size(); ++i)
    if (splits_[i].mask == mask) current_ = i;
}

uint32_t Warp::blocked() const {
  uint32_t lanes = 0;
  for (const Split& s : splits_)
    if (s.state == Split::State::outside) lanes |= s.mask;
  return lanes;
}

uint32_t Warp::warp_barrier_lanes() const {
  uint32_t lanes = 0;
  for (const Split& s : splits_)
    if (s.state == Split::State::warp_barrier) lanes |= s.mask;
  return lanes;
}

uint32_t Warp::warp_barrier_inst() const {
  for (const Split& s : splits_)
    if (s.state == Split::State::warp_barrier) return s.inst;
  return last_inst_;
}

uint32_t Warp::waiting_inst_of(int lane) const {
  for (size_t i = 0; i < splits_.size(); ++i) {
    const Split& s = splits_[i];
    if (!(s.mask >> lane & 1)) continue;
    if (s.state == Split::State::outside || s.state == Split::State::warp_barrier) return s.inst;
    const uint32_t pc = i == current_ && runnable_ ? pc_ : s.pc;
    return program_->first[pc] < program_->order.size() ? program_->order[program_->first[pc]] : last_inst_;
  }
  return last_inst_;
}

const MbarrierWait& Warp::mbarrier_wait_of(int lane) const {
  for (const Split& s : splits_)
    if (s.mask >> lane & 1) return s.wait;
  return ctx.fx.wait;
}

void Warp::rotate() {
  if (splits_.size() < 2 || !runnable_ || special_) return;
  save_current();
  choose();
}

}  // namespace tcsim::isa
