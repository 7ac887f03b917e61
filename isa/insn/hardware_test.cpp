// Our results against those of an H200, for every instruction of the arithmetic chapters that sm_90 has: a hash of 2048
// results each. The file marks the approximate functions; everything else has to agree bit for bit.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "isa/insn/probe.h"

namespace tcsim::isa {
namespace {

struct Measured {
  uint64_t hash = 0;
  bool comparable = true;  // false: bounded by the manual only, or undefined for some of the operands
};

std::map<std::string, Measured> load() {
  std::ifstream in(std::string(TCSIM_SOURCE_DIR) + "/isa/insn/testdata/h200_arithmetic.txt");
  std::map<std::string, Measured> all;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(" : ");
    Measured m;
    m.comparable = line.find("approximate", colon) == std::string::npos && line.find("undefined", colon) == std::string::npos;
    m.hash = std::strtoull(line.c_str() + colon + 3, nullptr, 16);
    all[line.substr(0, colon)] = m;
  }
  return all;
}

TEST(Hardware, H200GivesTheSameBits) {
  auto measured = load();
  ASSERT_GT(measured.size(), 2000u) << "testdata/h200_arithmetic.txt";
  auto variants = probe_variants(150);
  const auto types = probe_types(variants);
  const auto values = probe_values(types);
  size_t compared = 0, skipped = 0;
  for (Variant& v : variants) {
    const auto it = measured.find(v.statement);
    if (it == measured.end()) {
      ADD_FAILURE() << v.statement << " was not measured";
      continue;
    }
    if (!it->second.comparable) {
      ++skipped;
      continue;
    }
    const auto results = probe_results(v, types, values);
    EXPECT_EQ(hash_of(results.data(), results.size()), it->second.hash) << v.statement;
    ++compared;
  }
  EXPECT_GT(compared, 2000u);
  EXPECT_LT(skipped, 60u);
}

}  // namespace
}  // namespace tcsim::isa
