// Result bits of an H200, word for word (validation/data/mma_bits, validation/data/mma_bits_h200).
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isa/matrix/hardware_case.h"
#include "isa/matrix/matrix_move.h"

namespace tcsim::isa {
namespace {

const std::filesystem::path kData = std::filesystem::path(TCSIM_SOURCE_DIR) / "validation/data";

bool is_wgmma(const std::filesystem::directory_entry& entry) { return entry.path().filename().string().starts_with("wgmma_"); }

TEST(Hardware, SharedCasesMatchOnHopper) {
  int folders = 0;
  std::string report;
  for (const auto& entry : std::filesystem::directory_iterator(kData / "mma_bits")) {
    if (!entry.is_directory() || is_wgmma(entry)) continue;
    HardwareCase test = HardwareCase::read(entry.path());
    EXPECT_EQ(differing_words(test, Generation::hopper, &report), 0) << test.name;
    ++folders;
  }
  EXPECT_EQ(folders, 16) << "folders of validation/data/mma_bits";
  EXPECT_EQ(report, "");
}

TEST(Hardware, WgmmaCasesMatch) {
  int folders = 0;
  std::string report;
  for (const auto& entry : std::filesystem::directory_iterator(kData / "mma_bits")) {
    if (!entry.is_directory() || !is_wgmma(entry)) continue;
    HardwareCase test = HardwareCase::read(entry.path());
    ASSERT_EQ(test.threads, 128);
    EXPECT_EQ(differing_wgmma_words(test, &report), 0) << test.name;
    ++folders;
  }
  EXPECT_EQ(folders, 7) << "wgmma folders of validation/data/mma_bits";
  EXPECT_EQ(report, "");
}

TEST(Hardware, OwnCapturesMatchOnHopper) {
  int instructions = 0;
  std::string report;
  for (HardwareCase& test : HardwareCase::read_packed(kData / "mma_bits_h200")) {
    if (test.name.find("matrix") != std::string::npos) continue;
    EXPECT_EQ(differing_words(test, Generation::hopper, &report), 0) << test.name;
    ++instructions;
  }
  EXPECT_EQ(instructions, 122);
  EXPECT_EQ(report, "");
}

// A wrong generation must not pass: the data can tell Ampere's sums from Hopper's.
TEST(Hardware, AmpereArithmeticDiffersOnHopperData) {
  HardwareCase test = HardwareCase::read(kData / "mma_bits/m16n8k16_f32_f16");
  std::string report;
  EXPECT_GT(differing_words(test, Generation::ampere, &report), 100);
}

TEST(Hardware, MatrixMoves) {
  int cases = 0;
  for (HardwareCase& test : HardwareCase::read_packed(kData / "mma_bits_h200")) {
    if (test.name.find("matrix") == std::string::npos) continue;
    ++cases;
    const bool trans = test.name.ends_with("trans");
    const int count = test.name == "movmatrix" ? 1 : test.name[test.name.find("_x") + 2] - '0';
    for (int t = 0; t < test.tiles; ++t) {
      const auto d = HardwareCase::registers(test.d, t, 4), a = HardwareCase::registers(test.a, t, 4);
      if (test.name == "movmatrix") {
        uint32_t got[32];
        movmatrix(got, a[0]);
        EXPECT_EQ(std::memcmp(got, d[0], sizeof got), 0) << test.name;
        continue;
      }
      // Shared memory: register i of lane l at byte 128 i + 4 l; lane l addresses 16-byte row e[l].
      std::vector<uint32_t> memory(512);
      for (int i = 0; i < 16; ++i) std::memcpy(&memory[static_cast<size_t>(32 * i)], a[static_cast<size_t>(i)], 128);
      uint8_t* rows[32];
      for (int l = 0; l < 32; ++l) rows[l] = reinterpret_cast<uint8_t*>(memory.data()) + 16 * test.e.words[static_cast<size_t>(t * 32 + l)];
      if (test.name.starts_with("ldmatrix")) {
        std::vector<uint32_t> got(static_cast<size_t>(32 * count));
        std::vector<uint32_t*> regs;
        for (int i = 0; i < count; ++i) regs.push_back(&got[static_cast<size_t>(32 * i)]);
        ldmatrix(regs.data(), rows, count, trans);
        for (int i = 0; i < count; ++i) EXPECT_EQ(std::memcmp(regs[static_cast<size_t>(i)], d[static_cast<size_t>(i)], 128), 0) << test.name;
      } else {
        const auto c = HardwareCase::registers(test.c, t, 4);
        stmatrix(rows, c.data(), count, trans);
        for (int i = 0; i < 16; ++i) EXPECT_EQ(std::memcmp(&memory[static_cast<size_t>(32 * i)], d[static_cast<size_t>(i)], 128), 0) << test.name;
      }
    }
  }
  EXPECT_EQ(cases, 13);
}

// wmma.load on an H200: which element each lane got (value = 1000 * row + col).
TEST(Hardware, WmmaLayouts) {
  std::ifstream in(kData / "mma_bits_h200/wmma_layouts.json");
  ASSERT_TRUE(in);
  int fragments = 0;
  const nlohmann::json layouts = nlohmann::json::parse(in);
  for (const auto& [key, registers] : layouts.items()) {
    // wmma.m16n16k16.f16.a.row, or for accumulators ...c.row.<type of A>
    std::vector<std::string> w;
    std::istringstream words(key);
    for (std::string s; std::getline(words, s, '.');) w.push_back(s);
    const MatrixRole role = w[3] == "a" ? MatrixRole::a : w[3] == "b" ? MatrixRole::b : MatrixRole::c;
    MatrixShape shape;
    ASSERT_EQ(std::sscanf(w[1].c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k), 3);
    const auto spec = fragment_spec(MatrixFamily::wmma, shape, role, *type_from_name(w[2]), MatrixOrder::row);
    ASSERT_TRUE(spec) << key;
    ASSERT_EQ(static_cast<size_t>(spec->registers), registers.size()) << key;
    for (int reg = 0; reg < spec->registers; ++reg)
      for (int lane = 0; lane < 32; ++lane)
        for (int sub = 0; sub < spec->per_register(); ++sub) {
          const Element e = element_at(*spec, lane, reg, sub);
          ASSERT_EQ(e.row * 1000 + e.col, registers[static_cast<size_t>(reg)][static_cast<size_t>(lane)][static_cast<size_t>(sub)].get<int>())
              << key << " register " << reg << " lane " << lane;
        }
    ++fragments;
  }
  EXPECT_EQ(fragments, 57);
}

}  // namespace
}  // namespace tcsim::isa
