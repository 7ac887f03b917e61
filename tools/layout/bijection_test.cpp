// Every operand of every listed instruction: each element in the documented number of places, no bit of any place used twice, and the
// table read by place says the same as read by element.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

bool starts(const std::string& text, std::string_view with) { return text.starts_with(with); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The places of an element that the PTX manual gives.
size_t documented_copies(const Table& t) {
  const std::string& name = t.instruction;
  // "wmma.load": fragments a and b of .f16 are vectors of 8 .f16x2 for every shape: 256 elements of 16x16 fill 4 registers a lane
  // (two copies), 128 of 8x16 two (four copies); 512 of 32x16 all 8.
  if (starts(name, "wmma") && has(name, ".f16") && (t.operand == "A" || t.operand == "B"))
    return static_cast<size_t>(8 * 32 * 2 / (t.rows() * t.cols()));
  // "tcgen05.cp": .warpx2 and .warpx4 are multicast to two and four warps.
  if (starts(name, "tcgen05.cp")) return has(name, "warpx4") ? 4 : has(name, "warpx2") ? 2 : 1;
  if (!starts(name, "tcgen05.mma")) return 1;
  // "Data Path Layout Organization": layouts E (.ws, M = 64) and B (two CTAs, M = 128, dense) fold the columns of D over two halves of the
  // lanes, G (.ws, M = 32) over four quarters; what is read by row (A and metadata in Tensor Memory) is needed in each part.
  const bool ws = has(name, ".ws."), pair = has(name, "cta_group::2") || has(name, ".m256n");
  const size_t folds = ws && has(name, ".m32n") ? 4 : (ws && has(name, ".m64n")) || (pair && has(name, ".m128n") && !has(name, ".sp.")) ? 2 : 1;
  if (t.operand == "E" || (t.operand == "A" && t.place == Place::tensor_memory)) return folds;
  // CUTLASS, tmem_sf_frg: ScaleFactorDuplicated4by1: each 32 lanes have a copy; Duplicated2by2 for layout B's B: each half has its own columns.
  // Each CTA of a pair has its own rows of A, but all columns of B.
  if (t.operand == "SFA") return 4;
  if (t.operand == "SFB") return (pair ? 8 : 4) / folds;
  return 1;
}

/// A number of the register, the column of Tensor Memory or the byte that a home is in.
uint64_t container(const Home& h) {
  const auto part = [](int value, int bits) { return static_cast<uint64_t>(value + 1) & ((1u << bits) - 1); };
  uint64_t key = 0;
  for (const auto& [value, bits] : {std::pair{h.cta, 2}, {h.warp, 3}, {h.lane, 6}, {h.reg, 9}, {h.tmem_lane, 8}, {h.tmem_column, 11}, {h.shared, 20}})
    key = key << bits | part(value, bits);
  return key;
}

/// Bits of containers that hold something; false if one of them did already.
class Bits {
 public:
  bool take(const Home& h) {
    const int width = h.bit_hi - h.bit_lo + 1;
    const uint64_t mask = (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1) << h.bit_lo;
    uint64_t& used = used_[container(h)];
    const bool free = (used & mask) == 0;
    used |= mask;
    count_ += static_cast<size_t>(width);
    return free;
  }
  size_t count() const { return count_; }
  size_t containers() const { return used_.size(); }

 private:
  std::unordered_map<uint64_t, uint64_t> used_;
  size_t count_ = 0;
};

/// An element of more than a byte in shared memory takes the bytes behind its first too.
bool take(Bits& bits, const Home& h) {
  if (h.shared < 0 || h.bit_hi < 8) return bits.take(h);
  bool free = true;
  for (int byte = 0; byte <= h.bit_hi / 8; ++byte) {
    Home one = h;
    one.shared += byte, one.bit_lo = 0, one.bit_hi = 7;
    free = bits.take(one) && free;
  }
  return free;
}

bool is_scale(const Table& t) { return starts(t.operand, "SF"); }

void expect_bijection(const Table& t) {
  const std::string what = t.instruction + " " + t.operand;
  ASSERT_GT(t.element_bits, 0) << what;
  const size_t copies = documented_copies(t);
  Bits bits;
  size_t homes = 0;
  for (int tile = 0; tile < t.tiles(); ++tile)
    for (int row = 0; row < t.rows(); ++row)
      for (int col = 0; col < t.cols(); ++col) {
        const auto all = t.homes({tile, row, col});
        ASSERT_EQ(all.size(), copies) << what << " " << row << "," << col;
        for (const Home& h : all) {
          ASSERT_TRUE(take(bits, h)) << what << " " << row << "," << col << ": a bit of its place holds another element";
          ASSERT_EQ(h.bit_hi - h.bit_lo + 1, t.element_bits) << what;
        }
        homes += all.size();
      }
  // The other way: everything that is found by place is at home there, and nothing is missing.
  const auto found = t.find({});
  ASSERT_EQ(found.size(), homes) << what;
  for (const auto& f : found) {
    const auto at = t.homes(f.element);
    ASSERT_NE(std::find(at.begin(), at.end(), f.home), at.end()) << what;
  }
  for (size_t i = 0; i < found.size(); i += found.size() / 3 + 1) {  // a place asked for by all its coordinates
    const auto one = t.find(found[i].home);
    ASSERT_EQ(one.size(), 1u) << what;
    ASSERT_EQ(one[0].element, found[i].element) << what;
  }
  // Fragments fill their registers: PTX has no padding in them. (Scale factors and metadata use some lanes and bytes.)
  if (t.place != Place::registers || is_scale(t) || t.operand == "E" || starts(t.instruction, "tcgen05")) return;
  const size_t lanes = 32 * static_cast<size_t>(std::max(t.largest(&Home::warp), 0) + 1), registers = static_cast<size_t>(t.largest(&Home::reg)) + 1;
  ASSERT_EQ(bits.containers(), lanes * registers) << what;
  ASSERT_EQ(bits.count(), lanes * registers * static_cast<size_t>(t.largest(&Home::bit_hi) + 1)) << what;
}

int expect_all(const Listed& l, const LayoutOptions& options) {
  std::string error;
  const auto tables = make_tables(l.name, "", options, error);
  EXPECT_FALSE(tables.empty()) << l.name << ": " << error;
  std::string operands;
  for (const Table& t : tables) {
    operands += (operands.empty() ? "" : " ") + t.operand;
    expect_bijection(t);
  }
  EXPECT_EQ(operands, l.operands) << l.name;
  return static_cast<int>(tables.size());
}

TEST(Bijection, EveryListedInstruction) {
  int checked = 0;
  for (const Listed& l : list_instructions()) checked += expect_all(l, {});
  EXPECT_GT(checked, 2000);
}

void expect_operand(const std::string& name, const std::string& operand, const LayoutOptions& options) {
  std::string error;
  const auto tables = make_tables(name, operand, options, error);
  ASSERT_EQ(tables.size(), 1u) << name << " " << operand << ": " << error;
  expect_bijection(tables[0]);
}

// The other accumulator types, places of A, swizzles and orders; N changes nothing but the number of columns.
TEST(Bijection, Options) {
  for (const Listed& l : list_instructions()) {
    const bool wgmma = starts(l.name, "wgmma"), tcgen05 = starts(l.name, "tcgen05.mma");
    if (!has(l.operands, "D") || starts(l.name, "tcgen05.ld") || starts(l.name, "tcgen05.cp") || has(l.name, "matrix")) continue;
    if ((wgmma || tcgen05) && !has(l.name, "n64k")) continue;
    expect_operand(l.name, "D", {.accumulator = "f16"});
    if (wgmma) expect_operand(l.name, "A", {.space = "shared"});
    if (tcgen05) expect_operand(l.name, "A", {.space = "tmem"});
    if (wgmma || tcgen05)
      for (const char* swizzle : {"none", "32B", "64B", "128B"})
        for (const isa::Major major : {isa::Major::k, isa::Major::mn}) expect_operand(l.name, "B", {.swizzle = swizzle, .major = major});
  }
}

TEST(Bijection, ScaleFactors) {
  for (const int scale_vec : {1, 2, 4})
    for (const char* operand : {"SFA", "SFB"}) {
      expect_operand("mma.m16n8k64.e2m1", operand, {.scale_vec = scale_vec});
      if (scale_vec > 1) expect_operand("tcgen05.mma.m128n64k64.mxf4nvf4", operand, {.scale_vec = scale_vec});
    }
  for (const char* type : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"})
    for (const char* operand : {"SFA", "SFB"}) expect_operand(fmt::format("mma.m16n8k32.{}", type), operand, {});
}

}  // namespace
}  // namespace tcsim::layout
