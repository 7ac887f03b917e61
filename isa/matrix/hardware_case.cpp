#include "isa/matrix/hardware_case.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace tcsim::isa {
namespace {

std::vector<uint32_t> read_words(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path.string());
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

}  // namespace

HardwareCase HardwareCase::read(const std::filesystem::path& folder) {
  HardwareCase out;
  std::ifstream in(folder / "case.json");
  if (!in) throw std::runtime_error("no case.json in " + folder.string());
  const nlohmann::json info = nlohmann::json::parse(in);
  out.name = folder.filename().string();
  out.instruction = info.at("instruction");
  out.tiles = info.at("tiles");
  out.word_bytes = info.at("word_bytes");
  out.threads = info.value("threads", 32);
  const auto operand = [&](const char* letter, Words& w, const std::string& count_key, bool required) {
    if (!info.contains(count_key) && !required) return;
    w.registers = info.at(count_key);
    w.words = read_words(folder / (std::string(letter) + ".bin"));
    const size_t expected = static_cast<size_t>(out.tiles * w.registers * out.threads * (*letter == 'e' ? 4 : out.word_bytes) / 4);
    if (w.words.size() != expected) throw std::runtime_error(folder.string() + ": wrong size of " + letter + ".bin");
  };
  operand("a", out.a, "a_words_per_lane", true);
  operand("b", out.b, "b_words_per_lane", false);
  operand("c", out.c, "c_words_per_lane", false);
  operand("d", out.d, info.contains("d_words_per_lane") ? "d_words_per_lane" : "c_words_per_lane", true);
  operand("e", out.e, "e_words_per_lane", false);
  return out;
}

std::vector<HardwareCase> HardwareCase::read_packed(const std::filesystem::path& folder) {
  const std::vector<uint32_t> words = read_words(folder / "words.bin");
  std::ifstream in(folder / "cases.json");
  if (!in) throw std::runtime_error("no cases.json in " + folder.string());
  std::vector<HardwareCase> out;
  for (const auto& info : nlohmann::json::parse(in)) {
    HardwareCase c;
    c.name = info.at("name"), c.instruction = info.at("instruction");
    c.tiles = info.at("tiles"), c.word_bytes = info.at("word_bytes");
    for (const auto& [letter, where] : info.at("operands").items()) {
      Words& w = letter == "a" ? c.a : letter == "b" ? c.b : letter == "c" ? c.c : letter == "d" ? c.d : c.e;
      w.registers = where.at("registers");
      const size_t first = where.at("offset").get<size_t>() / 4;
      const size_t count = static_cast<size_t>(c.tiles * w.registers * 32 * (letter == "e" ? 4 : c.word_bytes) / 4);
      if (first + count > words.size()) throw std::runtime_error("words.bin is too short for " + c.name);
      w.words.assign(words.begin() + static_cast<ptrdiff_t>(first), words.begin() + static_cast<ptrdiff_t>(first + count));
    }
    out.push_back(std::move(c));
  }
  return out;
}

int differing_words(HardwareCase& test, Generation generation, std::string* report) {
  MmaDesc desc = parse_mma(test.instruction, generation);
  if (const size_t at = test.name.find("_sp"); at != std::string::npos) desc.selector = test.name[at + 3] - '0';
  if (const std::string why = MmaPlan::check(desc); !why.empty()) throw std::runtime_error(test.name + ": " + why);
  const MmaPlan plan(desc);
  HardwareCase::Words got = test.d;
  int bad = 0;
  for (int t = 0; t < test.tiles; ++t) {
    const auto at = [&](HardwareCase::Words& w) { return HardwareCase::registers(w, t, test.word_bytes); };
    const auto d = at(got), a = at(test.a), b = at(test.b), c = at(test.c), want = at(test.d);
    plan.run(d.data(), a.data(), b.data(), c.data(), test.e.registers ? test.e.words.data() + t * 32 : nullptr);
    for (size_t r = 0; r < d.size(); ++r)
      for (int i = 0; i < 32 * test.word_bytes / 4; ++i)
        if (d[r][i] != want[r][i] && ++bad <= 4)
          *report += fmt::format("{} tile {} d{} word {}: {:08x}, hardware {:08x}\n", test.name, t, r, i, d[r][i], want[r][i]);
  }
  return bad;
}

int differing_wgmma_words(HardwareCase& test, std::string* report) {
  const WgmmaDesc desc = parse_wgmma(test.instruction);
  if (const std::string why = WgmmaPlan::check(desc); !why.empty()) throw std::runtime_error(test.name + ": " + why);
  const WgmmaPlan plan(desc);
  // kernel.ptx: A at 0, B at 2048, both K-major without swizzle, leading offset 128, stride offset 256.
  constexpr uint32_t b_start = 2048;
  const auto place = [](uint32_t start) { return encode_wgmma_descriptor({start, 128, 256, 0, 0}); };
  const size_t threads = static_cast<size_t>(test.threads);
  const auto words = [threads](HardwareCase::Words& w, int tile) { return w.words.data() + static_cast<size_t>(tile * w.registers) * threads; };
  HardwareCase::Words got = test.c;
  int bad = 0;
  for (int t = 0; t < test.tiles; ++t) {
    std::vector<uint8_t> memory(4096);
    std::memcpy(memory.data(), words(test.a, t), test.a.registers * threads * 4);
    std::memcpy(memory.data() + b_start, words(test.b, t), test.b.registers * threads * 4);
    for (int warp = 0; warp < WgmmaPlan::kWarps; ++warp) {
      std::vector<uint32_t*> d;
      for (int r = 0; r < got.registers; ++r) d.push_back(words(got, t) + static_cast<size_t>(r) * threads + 32 * warp);
      plan.run({.d = d.data(), .desc_a = place(0), .desc_b = place(b_start), .warp = warp, .memory = memory.data()});
    }
    const size_t count = static_cast<size_t>(got.registers) * threads;
    for (size_t i = 0; i < count; ++i)
      if (words(got, t)[i] != words(test.d, t)[i] && ++bad <= 4)
        *report += fmt::format("{} tile {} d{} thread {}: {:08x}, hardware {:08x}\n", test.name, t, i / threads, i % threads, words(got, t)[i],
                               words(test.d, t)[i]);
  }
  return bad;
}

std::vector<uint32_t*> HardwareCase::registers(Words& w, int tile, int word_bytes) {
  std::vector<uint32_t*> out;
  const int words = 32 * word_bytes / 4;
  for (int r = 0; r < w.registers; ++r) out.push_back(w.words.data() + static_cast<size_t>((tile * w.registers + r) * words));
  return out;
}

MmaDesc parse_mma(const std::string& instruction, Generation generation) {
  MmaDesc d;
  d.generation = generation;
  std::vector<std::string> words;
  std::istringstream in(instruction);
  for (std::string w; std::getline(in, w, '.');) words.push_back(w);
  std::vector<Type> types;
  std::vector<MatrixOrder> orders;
  d.family = words[0] == "wmma" ? MatrixFamily::wmma : MatrixFamily::mma;
  for (const std::string& w : words) {
    if (w.starts_with("sp")) d.family = MatrixFamily::mma_sparse;
    else if (w[0] == 'm' && w.size() > 1 && std::isdigit(w[1])) std::sscanf(w.c_str(), "m%dn%dk%d", &d.shape.m, &d.shape.n, &d.shape.k);
    else if (w == "row" || w == "col") orders.push_back(w == "row" ? MatrixOrder::row : MatrixOrder::col);
    else if (w == "satfinite") d.satfinite = true;
    else if (w == "xor") d.bit_op = BitOp::xor_popc;
    else if (w == "and") d.bit_op = BitOp::and_popc;
    else if (const auto t = type_from_name(w)) types.push_back(*t);
  }
  d.a_order = orders.at(0), d.b_order = orders.at(1);
  if (types.size() == 2) types = {types[0], Type::f16, Type::f16, types[1]};  // wmma: dtype, ctype
  d.d = types.at(0), d.a = types.at(1), d.b = types.at(2), d.c = types.at(3);
  return d;
}

WgmmaDesc parse_wgmma(const std::string& instruction) {
  WgmmaDesc d;
  std::vector<Type> types;
  std::istringstream in(instruction);
  for (std::string w; std::getline(in, w, '.');) {
    if (w == "sp") d.sparse = true;
    else if (w == "satfinite") d.satfinite = true;
    else if (w[0] == 'm' && w.size() > 1 && std::isdigit(w[1])) std::sscanf(w.c_str(), "m%dn%dk%d", &d.shape.m, &d.shape.n, &d.shape.k);
    else if (const auto t = type_from_name(w)) types.push_back(*t);
  }
  d.d = types.at(0), d.a = types.at(1), d.b = types.at(2);
  return d;
}

}  // namespace tcsim::isa
