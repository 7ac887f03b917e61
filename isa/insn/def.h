// The instruction table: one InstDef per instruction form, in one header per chapter of the PTX manual.
//
//   {.base = "shl", .syntax = "shl.type d, a, b;  .type = { .b16, .b32, .b64 };", .op = Op::shl,
//    .bind = &bind_shl, .since = {1, 0, 0}, .manual = "Logic and Shift Instructions: shl", .doc = "shift left"}
//
// The syntax column is the manual's own notation and is what the decoder matches, the printer and the docs show:
// `{...}` optional part, `.name = { .a, .b };` sets, several forms separated by a blank line. It is parsed once at start-up.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/module.h"

namespace tcsim::isa {

/// First PTX version and target that have the form.
struct Since {
  uint8_t ptx_major = 1, ptx_minor = 0;
  uint16_t sm = 0;
};

/// One modifier as matched: `set` is the name of the set in the notation ("type", "rnd"; empty for a literal), `value`
/// the text without the dot ("s32", "rn").
struct MatchedMod {
  std::string_view set, value;
};

/// What a bind function gets: the matched modifiers in order, and what it may use to prepare data.
struct Decoded {
  std::vector<MatchedMod> mods;
  Module* module = nullptr;
  Kernel* kernel = nullptr;

  bool has(std::string_view value) const;              // a literal or chosen value is present
  std::string_view value(std::string_view set) const;  // empty: not given
  Type type(std::string_view set = "type") const;      // Type::none: not given
};

/// Chooses inst.exec and fills op, type, type2, timing, space, flags, aux, plan. Returns an error text (what is not
/// allowed in this combination, and what is), empty if all is well.
using BindFn = std::string (*)(Inst& inst, const Decoded& decoded);

struct InstDef {
  std::string_view base;    // first word of the mnemonic
  std::string_view syntax;  // manual's notation
  Op op = Op::invalid;
  BindFn bind = nullptr;
  Since since{};
  std::string_view manual;
  std::string_view doc;
};

// One function a chapter; each table is defined beside its semantics in isa/insn/<chapter>.cpp.
std::span<const InstDef> integer_instructions();  // add ... dp4a, extended precision
std::span<const InstDef> float_instructions();    // f32, f64, half arithmetic, approximations
std::span<const InstDef> compare_instructions();  // setp, set, selp, slct
std::span<const InstDef> logic_instructions();    // and ... shf
std::span<const InstDef> move_instructions();     // mov, prmt, cvta, isspacep, shfl, vote, match, redux, ...
std::span<const InstDef> convert_instructions();  // cvt
std::span<const InstDef> memory_instructions();   // ld, st, atom, red, prefetch, fence, membar, ...
std::span<const InstDef> async_instructions();    // cp.async and its groups
std::span<const InstDef> bulk_instructions();     // cp.async.bulk, cp.async.bulk.tensor, reductions, tensormap
std::span<const InstDef> barrier_instructions();  // bar, barrier
std::span<const InstDef> mbarrier_instructions();
std::span<const InstDef> cluster_instructions();  // mapa, barrier.cluster, st.async, setmaxnreg, griddepcontrol, ...
std::span<const InstDef> control_instructions();  // bra, ret, exit, trap, nanosleep, ...
std::span<const InstDef> matrix_instructions();   // mma, wmma, ldmatrix, stmatrix, movmatrix
std::span<const InstDef> tcgen05_instructions();  // tcgen05, clusterlaunchcontrol

/// All chapters, in the order above.
const std::vector<const InstDef*>& instruction_table();

}  // namespace tcsim::isa
