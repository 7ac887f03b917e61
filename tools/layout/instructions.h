// From an instruction's name (as in the interface: "mma.m16n8k16.f16", "tcgen05.ld.32x32b.x8") to the tables of its operands.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/canonical_layout.h"
#include "tools/layout/layout_table.h"

namespace tcsim::layout {

/// What the name leaves open.
struct LayoutOptions {
  std::string accumulator = "f32";  // type of C and D where there is a choice
  std::string swizzle = "128B";     // of operands in shared memory; as canonical_layout()
  isa::Major major = isa::Major::k;
  std::string space = "";  // "registers", "tmem", "shared": of A where there is a choice
  int cta_group = 0;       // tcgen05.mma; 0: from the name, else 1
  int scale_vec = 0;       // block scaling; 0: the kind's usual one
  int half_split = 0;      // tcgen05.ld.16x32bx2, columns
};

/// What a full PTX name says: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" -> "mma.m16n8k16.f16", accumulator f32.
struct PtxName {
  std::string name, accumulator;  // "": the name says none
  int scale_vec = 0;
};
/// nullopt: no instruction that has tables, or a name without shape or types. The result need not exist.
std::optional<PtxName> from_ptx_name(std::string_view name);

/// instruction: a name of list_instructions() or the full PTX name. The tables of all operands; empty: `error` says what was found and expected. operand: only this one ("" all of them).
std::vector<Table> make_tables(std::string_view instruction, const std::string& operand, const LayoutOptions& options, std::string& error);

struct Listed {
  std::string name;
  std::string operands;        // "A B C D"
  int since = 0, until = 999;  // sm numbers that have it (until: exclusive)
};
/// Every instruction that make_tables knows, by family.
std::vector<Listed> list_instructions();

// By family; tables of `operand` or of all operands. Empty without an error: not a name of the family.
std::vector<Table> fragment_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error);
/// mma.sync on e4m3 and the like: exists with .block_scale too (a last word of the name).
bool has_block_scale(std::string_view name);
std::vector<Table> move_tables(std::string_view name, const std::string& operand);
std::vector<Table> tensor_access_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error);
std::vector<Table> tcgen05_mma_tables(std::string_view name, const std::string& operand, const LayoutOptions& options, std::string& error);
/// Whether a tcgen05.mma of this name exists; cheaper than its tables.
bool tcgen05_mma_exists(std::string_view name, const LayoutOptions& options);
std::vector<Table> core_matrix_tables(std::string_view name, const LayoutOptions& options);

/// A matrix of mn x k elements in shared memory; rows of the table are M (A) or K (B), as in the instruction.
Table shared_operand(std::string instruction, std::string operand, const isa::CanonicalLayout& layout, int mn, int k, int element_bits);
/// Byte offset -> the home of bits [bit, bit + bits).
Home shared_home(uint32_t byte, int bit, int bits);

/// "m64n128k16" into numbers; false if it is not a shape.
bool parse_shape(std::string_view text, int& m, int& n, int& k);
std::vector<std::string_view> split_words(std::string_view text, char separator);

}  // namespace tcsim::layout
