// One operand of one instruction as a table: every element with the places that hold it, and back.
//
//   const Table t = ...make_tables("mma.m16n8k16.f16", ...)...;
//   t.homes(0, 9, 3)        -> {lane 5, register 1, bits 16 to 31}
//   t.find({.lane = 5, .reg = 1})  -> elements (9, 2) and (9, 3)
//
// Layouts themselves are in isa/layout; here they are only collected, so that every question and every format has one source.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tcsim::layout {

/// A place; -1: the layout has no such coordinate.
struct Home {
  int warp = -1, lane = -1, reg = -1;  // registers
  int bit_lo = -1, bit_hi = -1;        // in the register, the column of Tensor Memory or the byte
  int cta = -1, tmem_lane = -1, tmem_column = -1;
  int shared = -1, bank = -1;  // byte offset in shared memory; its bank
  bool operator==(const Home&) const = default;
};

/// Names of Home's members in JSON and CSV, in order.
struct Coordinate {
  const char* name;
  int Home::*value;
};
inline constexpr Coordinate kCoordinates[] = {
    {"warp", &Home::warp},     {"lane", &Home::lane}, {"register", &Home::reg},        {"bit_lo", &Home::bit_lo},
    {"bit_hi", &Home::bit_hi}, {"cta", &Home::cta},   {"tmem_lane", &Home::tmem_lane}, {"tmem_column", &Home::tmem_column},
    {"shared", &Home::shared}, {"bank", &Home::bank}};

struct ElementAt {
  int tile = 0, row = 0, col = 0;
  bool operator==(const ElementAt&) const = default;
};

enum class Place : uint8_t { registers, tensor_memory, shared_memory };

class Table {
 public:
  Table(std::string instruction, std::string operand, int rows, int cols, int tiles = 1);

  std::string instruction, operand;
  std::vector<std::string> notes;  // what to know when reading it; one line each
  Place place = Place::registers;
  int element_bits = 0;
  const char* tile_name = "tile";  // of tables with several independent matrices

  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int tiles() const { return tiles_; }

  void add(ElementAt e, const Home& home);
  std::span<const Home> homes(ElementAt e) const { return homes_[index(e)]; }
  bool holds(ElementAt e) const { return e.tile >= 0 && e.tile < tiles_ && e.row >= 0 && e.row < rows_ && e.col >= 0 && e.col < cols_; }
  /// Whether places have this coordinate.
  bool has(int Home::*coordinate) const { return present_.*coordinate >= 0; }
  /// Largest value of a coordinate, -1 if there is none.
  int largest(int Home::*coordinate) const { return present_.*coordinate; }

  struct Found {
    ElementAt element;
    Home home;
  };
  /// Everything in places that agree with all coordinates that `where` has (not -1), ordered by place.
  std::vector<Found> find(const Home& where) const;

 private:
  size_t index(ElementAt e) const { return (static_cast<size_t>(e.tile) * rows_ + e.row) * cols_ + e.col; }
  int rows_, cols_, tiles_;
  std::vector<std::vector<Home>> homes_;
  Home present_;
};

}  // namespace tcsim::layout
