// A small instruction table for tests of the parser and linker: enough to write kernels with, no semantics.
#pragma once
#include <string>

#include "isa/ptx/module.h"
#include "isa/syntax/matcher.h"

namespace tcsim::isa {

inline std::string bind_plain(Inst& inst, const Decoded& decoded) {
  inst.exec = [](ExecContext&, const Inst&, uint32_t) {};
  inst.type = decoded.type();
  inst.space = decoded.has("shared")   ? Space::shared
               : decoded.has("global") ? Space::global
               : decoded.has("param")  ? Space::param
               : decoded.has("local")  ? Space::local
               : decoded.has("const")  ? Space::constant
                                       : Space::generic;
  return {};
}

inline const Matcher& test_matcher() {
  static const std::string types = " .type = { .pred, .b8, .b16, .b32, .b64, .u8, .u16, .u32, .u64, .s32, .s64, .f16, .f32, .f64 };";
  static const auto typed = [](const std::string& form) { return form + types; };
  static const std::string add = typed("add.type d, a, b;"), mov = typed("mov.type d, a;"), selp = typed("selp.type d, a, b, {!}c;"),
                           setp = typed("setp.cmp.type p{|q}, a, b; .cmp = { .eq, .lt };"),
                           ld = typed("ld{.ss}{.vec}.type d, [a]; .ss = { .global, .shared, .param, .local, .const }; .vec = { .v2, .v4 };"),
                           st = typed("st{.ss}{.vec}.type [a], b; .ss = { .global, .shared, .param, .local }; .vec = { .v2, .v4 };");
  static const InstDef rows[] = {
      {.base = "add", .syntax = add, .op = Op::add, .bind = &bind_plain},
      {.base = "mov", .syntax = mov, .op = Op::mov, .bind = &bind_plain},
      {.base = "setp", .syntax = setp, .op = Op::setp, .bind = &bind_plain},
      {.base = "selp", .syntax = selp, .op = Op::selp, .bind = &bind_plain},
      {.base = "ld", .syntax = ld, .op = Op::ld, .bind = &bind_plain},
      {.base = "st", .syntax = st, .op = Op::st, .bind = &bind_plain},
      {.base = "bra", .syntax = "bra{.uni} tgt;", .op = Op::bra, .bind = &bind_plain},
      {.base = "brx", .syntax = "brx.idx{.uni} index, tlist;", .op = Op::brx, .bind = &bind_plain},
      {.base = "ret", .syntax = "ret{.uni};", .op = Op::ret, .bind = &bind_plain},
      {.base = "trap", .syntax = "trap;", .op = Op::trap, .bind = &bind_plain},
      {.base = "stmatrix", .syntax = "stmatrix.sync.b16 [p], r;", .op = Op::stmatrix, .bind = &bind_plain, .since = {7, 8, 90}},
      {.base = "prefetch", .syntax = "prefetch.tensormap [a];", .op = Op::prefetch, .bind = &bind_plain},
  };
  static const Matcher matcher([] {
    std::vector<const InstDef*> table;
    for (const InstDef& def : rows) table.push_back(&def);
    return table;
  }());
  return matcher;
}

/// A module of one kernel `k` with the given body, and declarations before it.
inline std::string kernel_text(const std::string& body, const std::string& before = "", const std::string& params = "") {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n";
  text.append(before).append("\n.visible .entry k(").append(params).append(")\n{\n").append(body).append("\n}\n");
  return text;
}

struct Loaded {
  Diagnostics diags;
  std::unique_ptr<Module> module;
  const Kernel& kernel() const { return module->kernels.front(); }
  std::string messages() const {
    std::string out;
    for (const Diagnostic& d : diags.all()) out += d.str() + "\n";
    return out;
  }
};

inline Loaded load_test(const std::string& text) {
  Loaded loaded;
  loaded.module = load_module("k.ptx", text, loaded.diags, test_matcher());
  return loaded;
}

}  // namespace tcsim::isa
