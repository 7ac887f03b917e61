// Does an ldmatrix bring every element of a fragment into the register where the instruction expects it, exactly once? Does a stmatrix
// write every element to its place? And: is what a program believes of a fragment (formulas, a table) what the instruction holds?
//
//   MovePlan plan; plan.name = "ldmatrix.x2"; plan.starts = {{0, 0}, {1, 0}, ...}          // row and column that each lane addresses
//   const Coverage c = cover(make_tables("mma.m16n8k8.f16", "A", ...)[0], plan, error);
//   c.complete()   -> false; c.never: rows 8 to 15; c.needed: what each lane must address
//
// Which element of a row reaches which register is isa/layout/move_layout.h's, where the instruction expects it the Table's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/layout/swizzle.h"
#include "sim/smem/wavefronts.h"
#include "tools/layout/layout_table.h"

namespace tcsim::layout {

/// Row and column of the operand, or (bytes) a byte offset in shared memory.
struct RowStart {
  int64_t row = 0, col = 0;
  bool is_bytes = false;
  int64_t byte = 0;
};

/// Which index is contiguous in shared memory.
enum class Order : uint8_t { row, col };

struct MovePlan {
  std::string name;  // "ldmatrix.x4.trans", "stmatrix.x2"
  Order order = Order::row;
  int pitch = 0;                             // bytes between rows (Order::col: columns); 0: no gaps
  uint32_t offset = 0;                       // byte offset of the operand
  isa::Swizzle swizzle = isa::kSwizzleNone;  // on byte addresses
  int tiles_down = 1, tiles_across = 1;      // fragments of as many instructions, beside each other; numbered along rows
  int loads = 0;                             // instructions; 0: as many as fill the fragments
  int warp = 0;                              // of the warpgroup
  std::vector<int> into;         // fragment register of each moved register (register r of fragment f: f * registers + r); empty: in order
  std::vector<RowStart> starts;  // 32 for each load; empty: those that the fragment needs
};

struct Coverage {
  struct Register {
    int number = 0;               // fragment * registers + register
    std::string expected, moved;  // "rows 8-15, columns 0-7"
    int wrong = 0, of = 0;        // elements
    std::string example;          // "lane 1: A[1][0] instead of A[0][2]"
  };
  std::string title;  // "A of mma.m16n8k8.f16 (16 x 8) by ldmatrix.x2, rows contiguous"
  std::vector<std::string> notes;
  bool store = false;
  int moves = 0;  // instructions
  int elements = 0, in_place = 0;
  std::string never;                       // elements that no lane's row contains: "rows 8-15"; empty: none
  std::string repeated;                    // those that come more often than the fragment holds them
  std::vector<Register> wrong;             // registers with an element that is not the expected one
  std::vector<int> unfilled, overwritten;  // fragment registers that no load writes, and that two write
  std::vector<int> homeless;               // moved registers for which the fragments have no register
  std::vector<std::string> outside;        // lanes whose rows leave the operand: "lane 16: row 16, column 0"
  std::vector<std::string> misaligned;     // "lane 3: byte 0x38, expected a multiple of 16"
  std::vector<std::string> needed;         // addresses with which it is complete; empty: there are none
  std::string formula;                     // the same as a formula, where a usual one fits
  std::vector<std::string> hints;          // changes that make it complete
  sim::Wavefronts wavefronts;              // of all loads; 0 if the memory layout is not known
  bool assumed_starts = false;             // no addresses were given: `needed` was used
  bool complete() const {
    return never.empty() && repeated.empty() && wrong.empty() && unfilled.empty() && overwritten.empty() && homeless.empty() && outside.empty() &&
           misaligned.empty();
  }
};

/// error: the question makes no sense (no such move, registers of another width, ...); else the answer, with hints.
Coverage cover(const Table& fragment, const MovePlan& plan, std::string& error);
std::string coverage_text(const Coverage& c);
std::string coverage_json(const Coverage& c);

/// What a program believes: element i of a lane's registers (counted over all of them) is at (row, col).
struct Belief {
  int warp = 0, lane = 0, element = 0, row = 0, col = 0;
};
struct BeliefCheck {
  std::string title;
  int checked = 0, wrong = 0;
  std::vector<std::string> examples;  // "lane 0, element 1 (register 1): believed C[8][0], it is C[0][1]"
  std::string hint;                   // "with the elements in the order 0, 2, 1, 3 it is right"
  std::string missing;                // elements of the fragment that nobody was believed to hold
  bool right() const { return wrong == 0 && missing.empty(); }
};
BeliefCheck check_belief(const Table& fragment, const std::vector<Belief>& beliefs, std::string& error);
std::string belief_text(const BeliefCheck& c);
std::string belief_json(const BeliefCheck& c);
/// Elements of a lane, over all registers.
int elements_of_lane(const Table& fragment);

/// "rows 8-15, columns 0-7", "24 elements of rows 0-5 ...": (row, col) pairs in any order.
std::string describe_region(std::vector<std::pair<int, int>> elements, int rows, int cols);

}  // namespace tcsim::layout
