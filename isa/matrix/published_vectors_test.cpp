// Published result bits of V100, A100, Ada, H100 and B200 tensor cores (validation/data/tensor_core_vectors, BSD-2): one dot product a line.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/matrix/mma_plan.h"
#include "isa/numeric/float_tile.h"
#include "isa/numeric/formats.h"
#include "isa/numeric/half.h"

namespace tcsim::isa {
namespace {

const std::filesystem::path kVectors = std::filesystem::path(TCSIM_SOURCE_DIR) / "validation/data/tensor_core_vectors";

struct Set {
  const char *gpu, *type;
  Generation generation;
  Type input;
  MatrixShape shape;  // the instruction that gives the K of the file: 4 words a line on V100 and for tf32, 8 on A100 and Ada, ...
};

std::vector<std::vector<uint32_t>> read_hex(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::vector<uint32_t>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<uint32_t> row;
    for (std::string w; words >> w;) row.push_back(static_cast<uint32_t>(std::stoul(w, nullptr, 16)));
    if (!row.empty()) rows.push_back(row);
  }
  return rows;
}

std::vector<uint32_t> read_binary(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<uint32_t> rows;
  for (std::string line; in >> line;) rows.push_back(static_cast<uint32_t>(std::stoul(line, nullptr, 2)));
  return rows;
}

/// Puts the vectors into row 0 of A and column 0 of B and reads D(0, 0).
uint32_t run_dot(const Set& set, Type acc, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  MmaDesc desc{.generation = set.generation, .shape = set.shape, .a = set.input, .b = set.input, .c = acc, .d = acc};
  const MmaPlan plan(desc);
  std::vector<std::vector<uint32_t>> store;
  const auto fill = [&](MatrixRole role, Type type, int count, auto&& element_of) {
    const FragmentMap map(*fragment_spec(MatrixFamily::mma, set.shape, role, type, role == MatrixRole::b ? MatrixOrder::col : MatrixOrder::row));
    store.assign(static_cast<size_t>(map.registers()), std::vector<uint32_t>(32, 0));
    for (int i = 0; i < count; ++i) {
      const auto [row, col, bits] = element_of(i);
      const Home h = map.home(row, col);
      store[h.reg][h.lane] |= bits << h.bit;
    }
    return store;
  };
  const auto encode = [&](uint32_t f) { return static_cast<uint32_t>(convert(Type::f32, set.input, f)); };
  auto ra = fill(MatrixRole::a, set.input, static_cast<int>(a.size()), [&](int i) { return std::tuple(0, i, encode(a[static_cast<size_t>(i)])); });
  auto rb = fill(MatrixRole::b, set.input, static_cast<int>(b.size()), [&](int i) { return std::tuple(i, 0, encode(b[static_cast<size_t>(i)])); });
  auto rc = fill(MatrixRole::c, acc, 1, [&](int) { return std::tuple(0, 0, c); });
  const auto pointers = [](auto& regs) {
    std::vector<uint32_t*> p;
    for (auto& r : regs) p.push_back(r.data());
    return p;
  };
  const auto pa = pointers(ra), pb = pointers(rb), pc = pointers(rc);
  plan.run(pc.data(), pa.data(), pb.data(), pc.data());
  const FragmentMap map(*fragment_spec(MatrixFamily::mma, set.shape, MatrixRole::d, acc, MatrixOrder::row));
  const Home h = map.home(0, 0);
  return acc == Type::f16 ? (rc[h.reg][h.lane] >> h.bit) & 0xffff : rc[h.reg][h.lane];
}

void check_set(const Set& set, Type acc) {
  const std::string folder = std::string(set.gpu) + "_" + set.type, acc_name = acc == Type::f16 ? "fp16" : "fp32";
  const auto a = read_hex(kVectors / folder / ("a_" + folder + ".txt")), b = read_hex(kVectors / folder / ("b_" + folder + ".txt"));
  const auto c = read_binary(kVectors / folder / ("c_" + std::string(set.gpu) + "_fp32.txt"));
  const auto d = read_binary(kVectors / folder / ("d_" + std::string(set.gpu) + "_" + acc_name + ".txt"));
  ASSERT_GE(a.size(), 200u) << folder;
  ASSERT_EQ(d.size(), a.size()) << folder;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool half = acc == Type::f16;  // c was rounded to f16; d is that f16 as f32
    const uint32_t c_bits = half ? f32_to_f16(std::bit_cast<float>(c[i])) : c[i];
    uint32_t got = run_dot(set, acc, a[i], b[i], c_bits);
    if (half) got = std::bit_cast<uint32_t>(f16_to_f32(static_cast<uint16_t>(got)));
    ASSERT_EQ(got, d[i]) << folder << " " << acc_name << " line " << i + 1;
  }
}

constexpr MatrixShape k16{16, 8, 16}, k8{16, 8, 8}, k4{16, 8, 4}, k32{16, 8, 32};
using G = Generation;

TEST(PublishedVectors, F32Output) {
  for (const Set& s :
       {Set{"V100", "fp16", G::volta, Type::f16, {8, 8, 4}}, Set{"A100", "fp16", G::ampere, Type::f16, k8},
        Set{"A100", "bf16", G::ampere, Type::bf16, k8}, Set{"A100", "tf32", G::ampere, Type::tf32, k4}, Set{"Ada", "fp16", G::ada, Type::f16, k8},
        Set{"Ada", "bf16", G::ada, Type::bf16, k8}, Set{"Ada", "tf32", G::ada, Type::tf32, k4}, Set{"Ada", "E4M3", G::ada, Type::e4m3, k32},
        Set{"Ada", "E5M2", G::ada, Type::e5m2, k32}, Set{"H100", "fp16", G::hopper, Type::f16, k16}, Set{"H100", "bf16", G::hopper, Type::bf16, k16},
        Set{"H100", "tf32", G::hopper, Type::tf32, k4}, Set{"B200", "fp16", G::blackwell, Type::f16, k16},
        Set{"B200", "bf16", G::blackwell, Type::bf16, k16}, Set{"B200", "tf32", G::blackwell, Type::tf32, k4},
        Set{"B200", "E4M3", G::blackwell, Type::e4m3, k32}, Set{"B200", "E5M2", G::blackwell, Type::e5m2, k32}})
    check_set(s, Type::f32);
}

TEST(PublishedVectors, F16Output) {
  for (const Set& s :
       {Set{"V100", "fp16", G::volta, Type::f16, {8, 8, 4}}, Set{"A100", "fp16", G::ampere, Type::f16, k8}, Set{"Ada", "fp16", G::ada, Type::f16, k8},
        Set{"Ada", "E4M3", G::ada, Type::e4m3, k32}, Set{"Ada", "E5M2", G::ada, Type::e5m2, k32}, Set{"H100", "fp16", G::hopper, Type::f16, k16},
        Set{"H100", "E4M3", G::hopper, Type::e4m3, k32}, Set{"H100", "E5M2", G::hopper, Type::e5m2, k32},
        Set{"B200", "fp16", G::blackwell, Type::f16, k16}, Set{"B200", "E4M3", G::blackwell, Type::e4m3, k32},
        Set{"B200", "E5M2", G::blackwell, Type::e5m2, k32}})
    check_set(s, Type::f16);
}

// H100's fp8 sums in f32 come from wgmma, with c = 0.
TEST(PublishedVectors, WgmmaFp8) {
  for (const auto& [name, type] : {std::pair{"E4M3", Type::e4m3}, {"E5M2", Type::e5m2}}) {
    const std::string folder = std::string("H100_") + name;
    const auto a = read_hex(kVectors / folder / ("a_" + folder + ".txt")), b = read_hex(kVectors / folder / ("b_" + folder + ".txt"));
    const auto d = read_binary(kVectors / folder / "d_H100_fp32.txt");
    ASSERT_GE(a.size(), 200u) << folder;
    ASSERT_EQ(d.size(), a.size()) << folder;
    for (size_t i = 0; i < a.size(); ++i) {
      std::vector<uint32_t> x, y;
      for (uint32_t bits : a[i]) x.push_back(static_cast<uint32_t>(convert(Type::f32, type, bits)));
      for (uint32_t bits : b[i]) y.push_back(static_cast<uint32_t>(convert(Type::f32, type, bits)));
      ASSERT_EQ(x.size(), 32u);
      ASSERT_EQ(float_dot(*find_arith(Generation::hopper, MmaPath::wgmma, type, Type::f32, 32), type, type, Type::f32, x.data(), y.data(), 32, 0),
                d[i])
          << folder << " line " << i + 1;
    }
  }
}

}  // namespace
}  // namespace tcsim::isa
