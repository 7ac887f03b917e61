// tcgen05 in a CTA's picture.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "isa/exec/tensor_memory.h"
#include "isa/insn/tcgen05.h"
#include "sim/trace/picture.h"

namespace tcsim::sim {
namespace {

class Tcgen05Picture : CtaView {
 public:
  explicit Tcgen05Picture(const CtaView& cta) : CtaView(cta) {}

  void draw() const {
    draw_tensor_ops();
    draw_commits();
    draw_columns();
    draw_accesses();
  }

 private:
  /// Also those of the pair's other CTA: both SMs' tensor cores work on them.
  void draw_tensor_ops() const {
    struct Drawn {
      const CtaTrace::TensorOp* op;
      uint64_t cta;
    };
    std::vector<Drawn> order;
    const auto gather = [&](const CtaTrace* cta, bool peer) {
      if (cta == nullptr) return;
      for (const CtaTrace::TensorOp& op : cta->tensor_ops())
        if (op.op.kind != isa::Tcgen05Op::Kind::commit && (!peer || op.op.cta_group == 2)) order.push_back({&op, cta->linear()});
    };
    gather(&t_, false);
    gather(l_.trace.of(id_ ^ 1), true);
    if (order.empty()) return;
    name_track(kTensor, "tensor core");
    std::stable_sort(order.begin(), order.end(), [](const Drawn& a, const Drawn& b) { return a.op->from < b.op->from; });
    Cycle free = 0;
    for (const auto& [op, cta] : order) {
      const Cycle from = std::max(op->from, free), to = std::max(op->to, from + 1);
      free = to;
      l_.slice(id_, kTensor, tensor_name(op->op), "tensor", from, to, tensor_args(*op, cta));
      if (cta == id_) l_.flow("issued", id_, warp_tid(op->warp), op->issued, id_, kTensor, from);
    }
  }

  static std::string tensor_name(const isa::Tcgen05Op& op) {
    const isa::Tcgen05Work work = isa::Tcgen05Ops::of(op).work(op);
    if (op.kind == isa::Tcgen05Op::Kind::mma) return fmt::format("tcgen05.mma m{}n{}k{} {}", work.m, work.n, work.k, work.kind);
    return fmt::format("{} {} B", op.kind == isa::Tcgen05Op::Kind::cp ? "tcgen05.cp" : "tcgen05.shift", work.copy_bytes);
  }

  Json tensor_args(const CtaTrace::TensorOp& op, uint64_t cta) const {
    Json args = {
        {"warp", op.warp}, {"queued_cycles", op.from - op.issued}, {"results_after_cycles", op.done - op.issued}, {"cta_group", op.op.cta_group}};
    if (cta != id_) args["issued_by"] = fmt::format("CTA {}", cta);
    const isa::TensorAddress d = isa::TensorAddress::of(op.op.d);
    args["tmem_column"] = d.column;
    if (op.op.kind == isa::Tcgen05Op::Kind::mma) args["accumulates"] = op.op.accumulate;
    args["instruction"] = short_name(inst(op.op.index));
    args["source"] = l_.source(inst(op.op.index));
    return args;
  }

  /// From its issue until all operations before it are complete and its arrivals leave.
  void draw_commits() const {
    uint32_t tracks = 0;
    const CtaTrace::TensorOp* last = nullptr;  // that the tensor core works on
    for (uint32_t i = 0; i < t_.tensor_ops().size(); ++i) {
      const CtaTrace::TensorOp& op = t_.tensor_ops()[i];
      if (op.op.kind != isa::Tcgen05Op::Kind::commit) {
        last = &op;
        continue;
      }
      const uint32_t tid = l_.commits.at({id_, i});
      for (; tracks <= tid - kCommits; ++tracks) name_track(kCommits + tracks, fmt::format("commit {}", tracks));
      Json args = {{"warp", op.warp}, {"mbarrier", l_.place(op.op.mbarrier.offset)}, {"cycles", op.done - op.issued}};
      if (t_.tensor_ops()[i].op.cta_mask != 1u << op.op.rank) args["cta_mask"] = fmt::format("0x{:x}", op.op.cta_mask);
      args["instruction"] = short_name(inst(op.op.index));
      args["source"] = l_.source(inst(op.op.index));
      l_.slice(id_, tid, "commit on " + l_.place(op.op.mbarrier.offset), "commit", op.issued, op.done, std::move(args));
      l_.flow("issued", id_, warp_tid(op.warp), op.issued, id_, tid, op.issued);
      if (last != nullptr) l_.flow("completed", id_, kTensor, std::min(last->to, op.done) - 1, id_, tid, op.done - 1);
    }
  }

  /// Columns of Tensor Memory that the CTA owns.
  void draw_columns() const {
    const auto& changes = t_.tensor_columns();
    if (changes.empty()) return;
    name_track(kColumns, "TMEM columns");
    for (size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].units == 0) continue;
      const auto columns = static_cast<uint32_t>(std::popcount(changes[i].units)) * isa::TensorMemory::kUnit;
      const auto first = static_cast<uint32_t>(std::countr_zero(changes[i].units)) * isa::TensorMemory::kUnit;
      l_.slice(id_, kColumns, fmt::format("{} columns", columns), "columns", changes[i].at,
               i + 1 < changes.size() ? changes[i + 1].at : std::max(end_, changes[i].at + 1),
               {{"columns", columns}, {"first", first}, {"of", uint32_t{isa::TensorMemory::kColumns}}});
    }
  }

  void draw_accesses() const {
    std::array<bool, kQuarters> named{};
    for (const CtaTrace::TensorAccess& a : t_.tensor_accesses()) {
      const uint32_t quarter = a.warp % kQuarters, lane = quarter * isa::TensorMemory::kWarpLanes;
      if (!std::exchange(named[quarter], true))
        name_track(kAccesses + quarter, fmt::format("TMEM lanes {}-{}", lane, lane + isa::TensorMemory::kWarpLanes - 1));
      l_.slice(id_, kAccesses + quarter, short_name(inst(a.inst)), "tmem", a.from, a.to,
               {{"warp", a.warp},
                {"columns", isa::TensorAccess::of(inst(a.inst)).columns()},
                {"results_after_cycles", a.done - a.from},
                {"instruction", short_name(inst(a.inst))},
                {"source", l_.source(inst(a.inst))}});
      l_.flow("issued", id_, warp_tid(a.warp), a.from, id_, kAccesses + quarter, a.from);
    }
  }
};

}  // namespace

void draw_tcgen05(const CtaView& cta) { Tcgen05Picture(cta).draw(); }

}  // namespace tcsim::sim
