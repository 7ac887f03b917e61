// Watches what the tcgen05 operations of one cluster do to each other in Tensor Memory (PTX ISA, "Memory Consistency Model for 5th
// generation of TensorCore operations"), and says what a later run or another chip may do differently:
//
//   missing-wait           tcgen05.ld, st or an operand meets columns that an mma, cp or shift writes whose tcgen05.commit nobody has
//                          waited for, or that a tcgen05.st without tcgen05.wait::st wrote
//   overwrite-in-flight    columns are written that a tcgen05.ld without tcgen05.wait::ld, or an operation in flight, reads
//   missing-tcgen05-fence  threads synchronised, but without tcgen05.fence::before_thread_sync or ::after_thread_sync
//   uninitialised-read     words that nobody wrote
//   tmem-misuse (a fault)  an operand of an mma lies in columns that it, or an mma in flight, writes
//
// Addresses are enough: it works without data too. A wait counts for the warp that waited and, once that warp has arrived at any
// barrier, for everybody: that is lenient. Columns are watched in rows of 16 lanes, the least that an access touches.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "isa/exec/context.h"
#include "isa/exec/tensor_memory.h"

namespace tcsim::isa {

struct Cta;
struct TensorFragment;

class TensorWatch {
 public:
  /// CTAs by rank; they were started and live as long as the watch. on: the kernel uses Tensor Memory.
  void start(bool on, const std::vector<Cta*>& ctas);
  bool on() const { return on_; }

  // ---- instructions of a warp, when they execute ----
  struct Move {
    uint32_t lane = 0, lanes = 0, columns = 0, accesses = 1;
    std::array<uint32_t, 2> column{};
  };
  void load(ExecContext& ctx, uint32_t inst, const Move& move);
  void store(ExecContext& ctx, uint32_t inst, const Move& move);
  void waited(ExecContext& ctx, bool stores);
  void fence(ExecContext& ctx, bool after);
  /// mma, cp, shift, commit: gives op.id. False: a fault.
  bool issue(ExecContext& ctx, Tcgen05Op& op, const Tcgen05Touches& touches);

  // ---- later ----
  /// A commit's arrival on the mbarrier of a rank, before it is counted in `phase` (MbarrierUnit::Record::phase).
  void committed(const Tcgen05Op& commit, uint32_t rank, uint64_t phase);
  /// A warp was told that a phase has ended: `ended` phases so far.
  void passed(uint32_t rank, uint32_t warp, uint32_t mbarrier, uint64_t ended);
  /// A warp arrives at a barrier: others may rely on what it has waited for.
  void publish(uint32_t rank, uint32_t warp);
  /// Columns were freed.
  void forget(uint32_t rank, uint32_t column, uint32_t columns);

  /// Names the warp that issued an operation.
  static uint32_t issuer(const Tcgen05Op& op) { return index(op.rank, op.warp); }
  /// The warp has tcgen05.ld instructions that no tcgen05.wait::ld has waited for.
  bool loading(uint32_t rank, uint32_t warp) const { return on_ && !warps_[index(rank, warp)].loading.empty(); }
  /// Instruction `inst` is one of them; from then on it is not: each is told once.
  bool told_of_load(uint32_t rank, uint32_t warp, uint32_t inst) { return on_ && std::erase(warps_[index(rank, warp)].loading, inst) != 0; }

 private:
  static uint32_t index(uint32_t rank, uint32_t warp) { return rank * kWarps + warp; }
  static constexpr uint32_t kRow = 16, kRows = TensorMemory::kLanes / kRow, kWarps = 32;  // warps: of a CTA, at most
  /// An access that left its mark. warp: index(rank, warp).
  struct Event {
    enum class Kind : uint8_t { none, operation, store, load, operand } kind = Kind::none;  // operand: read by an operation
    Tcgen05Op::Kind op = Tcgen05Op::Kind::mma;
    uint16_t warp = 0;
    uint32_t inst = 0, cells = 0;  // cells that name it
    uint64_t id = 0, time = 0;
  };
  struct Cell {
    uint32_t write = 0, read = 0;
  };  // events; 0: none
  struct Seen {
    uint16_t warp;
    uint64_t id;
  };  // operations of a warp up to `id` are known to be complete
  struct Commit {
    uint16_t warp;
    uint64_t id, phase;
  };
  struct WarpState {
    uint64_t before = 0, after = 0;  // when it last executed the fences
    uint64_t waited_load = 0, waited_store = 0;
    std::vector<Seen> seen;
    std::vector<uint32_t> loading;
  };
  /// What an access found; the first finding of each kind is reported.
  struct Check;

  Cell& cell(uint32_t rank, uint32_t row, uint32_t column) { return cells_[(rank * TensorMemory::kColumns + column) * kRows + row]; }
  uint32_t new_event(Event event);
  void point(uint32_t& slot, uint32_t event);
  static void see(std::vector<Seen>& seen, Seen what);
  bool visible(const WarpState& reader, const Event& event) const;
  bool pending(const Event& event) const;
  const char* missing_fence(uint16_t reader, const Event& event) const;
  void check_reader(Check& check, const Event& write, bool same_queue);
  void check_writer(Check& check, const Cell& cell, bool same_queue);
  void check_cells(Check& check, uint32_t rank, const TensorRange& range, bool write, bool same_queue);
  void mark(uint32_t rank, const TensorRange& range, uint32_t event, bool write);
  bool repeat(const Tcgen05Op& op, const Tcgen05Touches& touches);
  bool check_operands(ExecContext& ctx, const Tcgen05Op& op, const Tcgen05Touches& touches);
  uint32_t rank_of(const Tcgen05Op& op, uint8_t cta) const { return op.cta_group == 2 ? (op.rank & ~1u) + cta : op.rank; }
  void report(ExecContext& ctx, const Check& check);

  bool on_ = false;
  std::vector<Cta*> ctas_;
  uint64_t time_ = 0, next_id_ = 0;
  std::vector<Cell> cells_;
  std::vector<Event> events_;  // [0] stands for none
  std::vector<uint32_t> free_;
  std::vector<WarpState> warps_;
  std::vector<Seen> published_;
  std::unordered_map<uint64_t, std::vector<Commit>> commits_;  // by rank << 32 | mbarrier
  // The last mma: one just like it changes no cell.
  struct Last {
    uint32_t event = 0;
    uint64_t accesses = 0;
    std::vector<TensorRange> writes;
    uint32_t cells = 0;
  } last_;
  uint64_t accesses_ = 0;  // that were not repeats
};

}  // namespace tcsim::isa
