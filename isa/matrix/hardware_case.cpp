#include "isa/matrix/hardware_case.h"

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
  const auto operand = [&](const char* letter, Words& w, const std::string& count_key, bool required) {
    if (!info.contains(count_key) && !required) return;
    w.registers = info.at(count_key);
    w.words = read_words(folder / (std::string(letter) + ".bin"));
    const size_t expected = static_cast<size_t>(out.tiles * w.registers * 32 * (*letter == 'e' ? 4 : out.word_bytes) / 4);
    if (w.words.size() != expected) throw std::runtime_error(folder.string() + ": wrong size of " + letter + ".bin");
  };
  operand("a", out.a, "a_words_per_lane", true);
  operand("b", out.b, "b_words_per_lane", false);
  operand("c", out.c, "c_words_per_lane", false);
  operand("d", out.d, info.contains("d_words_per_lane") ? "d_words_per_lane" : "c_words_per_lane", true);
  operand("e", out.e, "e_words_per_lane", false);
  return out;
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

}  // namespace tcsim::isa
