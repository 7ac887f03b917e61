// For tests: reproducible operand values for every instruction of the arithmetic chapters, rich in special cases, and the
// results our semantics give for them. The same values were run on hardware; see testdata/h200_arithmetic.txt.
#pragma once
#include <cstdint>
#include <vector>

#include "isa/insn/variants.h"

namespace tcsim::isa {

constexpr int kProbeLanes = 2048;   // values per operand
constexpr int kProbePositions = 5;  // operand positions

/// All variants that PTX 9.0 and sm_90 accept, at most `limit` of a row, each statement once.
std::vector<Variant> probe_variants(size_t limit);

/// Operand types that occur, in order of appearance.
std::vector<Type> probe_types(const std::vector<Variant>& variants);

/// Values [type][position][lane], flattened. They depend on the list of types only.
std::vector<uint64_t> probe_values(const std::vector<Type>& types);

/// Results of a variant: first kProbeLanes destinations, then kProbeLanes second results (q of p|q, carry out; else 0).
std::vector<uint64_t> probe_results(Variant& variant, const std::vector<Type>& types, const std::vector<uint64_t>& values);

/// Reads (madc, addc, subc) and writes (.cc) of the condition code.
bool reads_carry(const Variant& variant);
bool writes_carry(const Variant& variant);

/// FNV-1a over results.
uint64_t hash_of(const uint64_t* results, size_t count);

}  // namespace tcsim::isa
