// Reads one folder of result bits that a GPU produced (validation/data/mma_bits/README.md). For tests.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "isa/matrix/mma_plan.h"
#include "isa/matrix/wgmma_plan.h"

namespace tcsim::isa {

struct HardwareCase {
  std::string name, instruction;
  int tiles = 0, word_bytes = 4, threads = 32;
  /// Words [tile][register][thread] of one operand (64-bit words as two), and its registers a lane.
  struct Words {
    std::vector<uint32_t> words;
    int registers = 0;
  };
  Words a, b, c, d, e;

  /// Throws std::runtime_error if the folder is not complete.
  static HardwareCase read(const std::filesystem::path& folder);

  /// Every case of a folder with cases.json and words.bin (many small captures in one file).
  static std::vector<HardwareCase> read_packed(const std::filesystem::path& folder);

  /// Pointers to the registers of one tile.
  static std::vector<uint32_t*> registers(Words& w, int tile, int word_bytes);
};

/// Runs every tile through MmaPlan; returns how many 32-bit words of D differ, and describes the first few.
int differing_words(HardwareCase& test, Generation generation, std::string* report);

/// The same for wgmma captures through WgmmaPlan, with A and B in shared memory as kernel.ptx put them there.
int differing_wgmma_words(HardwareCase& test, std::string* report);

/// The description of "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" and of the mma.sp and wmma.mma forms.
MmaDesc parse_mma(const std::string& instruction, Generation generation);
/// The description of "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", A in shared memory.
WgmmaDesc parse_wgmma(const std::string& instruction);

}  // namespace tcsim::isa
