// ptxas as oracle: for each target and PTX version it must accept exactly the instruction variants that the table accepts.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "isa/insn/variants.h"

namespace tcsim::isa {
namespace {

/// Runs ptxas once; returns the lines with errors (numbers of the file), and whether it stopped at a syntax error.
std::set<int> error_lines(const std::string& text, const std::string& target, bool& fatal) {
  const auto base = std::filesystem::temp_directory_path() / fmt::format("tcsim_oracle_{}", ::getpid());
  const std::string source = base.string() + ".ptx", log = base.string() + ".log";
  std::ofstream(source) << text;
  const int rc = std::system(fmt::format("{} -arch={} -O0 -o /dev/null {} > {} 2>&1", TCSIM_PTXAS, target, source, log).c_str());
  std::ifstream in(log);
  std::set<int> lines;
  fatal = false;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(", line ");
    if (at == std::string::npos || line.find("error") == std::string::npos) continue;
    lines.insert(std::atoi(line.c_str() + at + 7));
    if (line.find("Parsing error") != std::string::npos || line.find("fatal") != std::string::npos) fatal = true;
  }
  EXPECT_TRUE(rc == 0 || !lines.empty()) << "ptxas failed without a line number; see " << log;
  return lines;
}

/// Which statements ptxas rejects. Syntax errors stop it, so the rejected ones are taken out and the rest tried again.
std::vector<bool> rejected_by_ptxas(const std::vector<std::string>& statements, const std::string& version, const std::string& target) {
  constexpr int kHeaderLines = 10;
  std::vector<bool> rejected(statements.size());
  std::vector<std::string> body = statements;
  for (int round = 0; round < 400; ++round) {
    bool fatal = false;
    const auto lines = error_lines(kernel_with(version, target, body), target, fatal);
    if (lines.empty()) return rejected;
    for (const int line : lines) {
      const int i = line - kHeaderLines - 1;
      if (i < 0 || i >= static_cast<int>(body.size())) {
        ADD_FAILURE() << "ptxas reports line " << line << " outside the statements";
        return rejected;
      }
      rejected[i] = true;
      body[i] = "";
    }
  }
  ADD_FAILURE() << "ptxas still reports errors after 400 rounds";
  return rejected;
}

bool exists(const InstDef& def, const Target& t) {
  return def.since.sm <= t.sm && (def.since.ptx_major < t.ptx_major || (def.since.ptx_major == t.ptx_major && def.since.ptx_minor <= t.ptx_minor));
}

size_t variant_limit() {
  const char* text = std::getenv("TCSIM_ORACLE_LIMIT");
  return text ? static_cast<size_t>(std::atoi(text)) : 400;
}

class Oracle : public testing::TestWithParam<Target> {};

TEST_P(Oracle, AcceptsWhatTheTableAccepts) {
  const Target t = GetParam();
  const std::string version = fmt::format("{}.{}", t.ptx_major, t.ptx_minor), target = fmt::format("sm_{}{}", t.sm, t.arch_specific ? "a" : "");
  std::vector<Variant> variants;
  for (const auto chapter : {integer_instructions(), float_instructions(), compare_instructions(), logic_instructions(), convert_instructions()})
    for (const InstDef& def : chapter)
      for (Variant& v : variants_of(def, t, variant_limit())) variants.push_back(std::move(v));
  ASSERT_GT(variants.size(), 1000u);
  // A spelling that several rows share exists when one of them has it.
  std::map<std::string, bool> ours;
  std::vector<std::string> statements;
  for (const Variant& v : variants) {
    const auto [it, fresh] = ours.emplace(v.statement, false);
    if (fresh) statements.push_back(v.statement);
    it->second |= v.accepted && exists(*v.def, t);
  }
  const auto rejected = rejected_by_ptxas(statements, version, target);
  int wrong = 0;
  for (size_t i = 0; i < statements.size(); ++i) {
    const bool we = ours[statements[i]], they = !rejected[i];
    if (we == they) continue;
    if (++wrong <= 60)
      ADD_FAILURE() << version << " " << target << ": " << statements[i]
                    << (we ? " accepted here, rejected by ptxas" : " rejected here, accepted by ptxas");
  }
  EXPECT_EQ(wrong, 0) << "of " << statements.size();
}

// Pairs in which a row's `since` can be wrong: each PTX version that brought forms, on the first target that needs it.
INSTANTIATE_TEST_SUITE_P(Targets, Oracle,
                         testing::Values(Target{6, 3, 75}, Target{6, 5, 75}, Target{7, 0, 80}, Target{7, 1, 80}, Target{7, 2, 86}, Target{7, 8, 75},
                                         Target{7, 8, 89}, Target{7, 8, 90}, Target{8, 0, 90}, Target{8, 1, 89}, Target{8, 2, 90}, Target{8, 6, 100},
                                         Target{9, 0, 75}, Target{9, 0, 80}, Target{9, 0, 86}, Target{9, 0, 89}, Target{9, 0, 90}, Target{9, 0, 100},
                                         Target{9, 0, 100, true}),
                         [](const auto& info) {
                           return fmt::format("ptx{}{}_sm{}{}", info.param.ptx_major, info.param.ptx_minor, info.param.sm,
                                              info.param.arch_specific ? "a" : "");
                         });

std::string register_list(int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += fmt::format("{}%bw{}", i ? ", " : "", first + i);
  return list + "}";
}

struct WgmmaKind {
  std::vector<std::string> a, b, d;
  int k;
  std::string op, tail_ss, tail_rs;  // .and.popc; operands after scale-d
};

std::string wgmma_statement(const WgmmaKind& t, int n, const std::string& a, const std::string& b, const std::string& d, bool sparse, bool registers,
                            int selector) {
  return fmt::format("wgmma.mma_async{}.sync.aligned.m64n{}k{}.{}.{}.{}{} {}, {}, %bd2{}, %p1{};", sparse ? ".sp" : "", n, sparse ? 2 * t.k : t.k, d,
                     a, b, t.op, register_list(0, d == "f16" ? n / 4 : n / 2), registers ? register_list(140, 4) : "%bd1",
                     sparse ? fmt::format(", %bw150, {}", selector) : "", registers ? t.tail_rs : t.tail_ss);
}

std::vector<std::string> wgmma_statements() {
  const std::string scales = ", 1, -1";
  const std::vector<std::string> every_d = {"f16", "f32", "s32"}, f8 = {"e4m3", "e5m2"}, s8 = {"s8", "u8"};
  const WgmmaKind kinds[] = {{{"f16"}, {"f16"}, every_d, 16, "", scales + ", 0, 1", scales + ", 1"},
                             {{"bf16"}, {"bf16"}, every_d, 16, "", scales + ", 1, 0", scales + ", 0"},
                             {{"tf32"}, {"tf32"}, every_d, 8, "", scales, scales},
                             {f8, f8, every_d, 32, "", scales, scales},
                             {s8, s8, every_d, 32, "", "", ""},
                             {{"b1"}, {"b1"}, every_d, 256, ".and.popc", "", ""}};
  std::vector<std::string> out;
  for (const WgmmaKind& t : kinds)
    for (const auto& a : t.a)
      for (const auto& b : t.b)
        for (const auto& d : t.d)
          for (int n = 8; n <= 256; n += 8)
            for (int form = 0; form < 6; ++form)  // dense, sparse with either selector; A in memory or in registers
              if (n % 64 == 0 || n < 64 || form < 3) out.push_back(wgmma_statement(t, n, a, b, d, form / 2 > 0, form % 2 > 0, form / 2 - 1));
  const std::string mma = "wgmma.mma_async.sync.aligned.m64n8k", d4 = "{%bw0, %bw1, %bw2, %bw3}", a4 = "{%bw4, %bw5, %bw6, %bw7}";
  for (const char* tail :
       {"%p1, 1, 1", "%p1", "%p1, 1, 1, 0", "%p1, 1, 0, 0, 0", "%p1, 1, 1, 0, 2", "%p1, 2, 1, 0, 0", "!%p1, 1, 1, 0, 1", "1, 1, 1, 0, 1"})
    out.push_back(mma + "16.f32.f16.f16 " + d4 + ", %bd1, %bd2, " + tail + ";");
  for (const char* tail : {"%p1, 1, 1, 0", "%p1, 1, 1, 0, 0", "%p1, 1, 1"})
    out.push_back(mma + "16.f32.bf16.bf16 " + d4 + ", " + a4 + ", %bd2, " + tail + ";");
  for (const char* head :
       {"32.satfinite.s32.s8.s8 ", "32.s32.s8.u8.satfinite ", "256.s32.b1.b1.xor.popc ", "256.s32.b1.b1 ", "256.satfinite.s32.b1.b1.and.popc "})
    out.push_back(mma + head + d4 + ", %bd1, %bd2, %p1;");
  out.push_back(mma + "32.s32.s8.s8 " + d4 + ", %bd1, %bd2, %p1, 1, 1;");
  out.push_back(mma + "32.f32.e4m3.e4m3 " + d4 + ", %bd1, %bd2, %p1, 1, 1, 0, 0;");
  for (const char* text : {"fence.sync.aligned", "commit_group.sync.aligned", "wait_group.sync.aligned 0", "wait_group.sync.aligned 7",
                           "wait_group.sync.aligned -1", "wait_group.sync.aligned %bw1"})
    out.push_back(fmt::format("wgmma.{};", text));
  return out;
}

/// Statements with vectors of registers, as modules: accepted here exactly when ptxas accepts them. Returns how many it does.
int compare_modules(const std::vector<std::string>& statements, const char* version, const char* target) {
  const auto rejected = rejected_by_ptxas(statements, version, target);
  int wrong = 0, accepted = 0;
  for (size_t i = 0; i < statements.size(); ++i) {
    Diagnostics diags;
    const auto module = load_module("k.ptx", kernel_with(version, target, {statements[i]}), diags);
    const bool we = module && !diags.has_errors(), they = !rejected[i];
    accepted += they;
    if (we != they && ++wrong <= 30)
      ADD_FAILURE() << target << ": " << statements[i]
                    << (we ? " accepted here, rejected by ptxas" : " rejected here, accepted by ptxas: " + diags.all()[0].str());
  }
  EXPECT_EQ(wrong, 0) << "of " << statements.size();
  return accepted;
}

/// mma of .kind:: forms with every pair of types, scale types and vectors, selectors; byte forms of ldmatrix and stmatrix; cvt.rs.
std::vector<std::string> narrow_statements() {
  const std::string d4 = register_list(0, 4), d2 = register_list(0, 2), a4 = register_list(4, 4), b2 = register_list(8, 2), b4 = register_list(8, 4);
  const std::vector<std::string> types = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  std::vector<std::string> out;
  for (const bool sp : {false, true}) {
    const std::string head = sp ? "mma.sp::ordered_metadata.sync.aligned." : "mma.sync.aligned.", b = sp ? b4 : b2, meta = sp ? ", %bw20, 0" : "";
    const std::string k8 = sp ? "m16n8k64" : "m16n8k32", k4 = sp ? "m16n8k128" : "m16n8k64";
    for (const auto& x : types)
      for (const auto& y : types) {
        out.push_back(fmt::format("{}kind::f8f6f4.{}.row.col.f32.{}.{}.f32 {}, {}, {}, {}{};", head, k8, x, y, d4, a4, b, d4, meta));
        out.push_back(fmt::format("{}{}.row.col.kind::f8f6f4.f16.{}.{}.f16 {}, {}, {}, {}{};", head, k8, x, y, d2, a4, b, d2, meta));
        if (!sp) out.push_back(fmt::format("{}kind::f8f6f4.m16n8k16.row.col.f32.{}.{}.f32 {}, {}, {{%bw8}}, {};", head, x, y, d4, b2, d4));
        for (const char* vec : {"", ".scale_vec::1X", ".scale_vec::2X"})
          out.push_back(
              fmt::format("{}kind::mxf8f6f4.block_scale{}.{}.row.col.f32.{}.{}.f32.ue8m0 {}, {}, {}, {}{}, %bw30, {{0, 0}}, %bw31, {{0, 0}};", head,
                          vec, k8, x, y, d4, a4, b, d4, meta));
      }
    for (const char* kind : {"mxf4", "mxf4nvf4"})
      for (const char* vec : {"", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X"})
        for (const char* scale : {"ue8m0", "ue4m3"})
          for (const char* selectors : {"{0, 0}, %bw31, {0, 0}", "{2, 1}, %bw31, {2, 3}", "{1, 0}, %bw31, {0, 0}", "{0, 2}, %bw31, {0, 0}",
                                        "{%bh1, %bh2}, %bw31, {%bh3, %bh4}"})
            out.push_back(fmt::format("{}kind::{}.block_scale{}.{}.row.col.f32.e2m1.e2m1.f32.{} {}, {}, {}, {}{}, %bw30, {};", head, kind, vec, k4,
                                      scale, d4, a4, b, d4, meta, selectors));
  }
  for (const char* shape : {"m8n16", "m16n16", "m16n8"})
    for (int n : {1, 2, 4})
      for (const char* trans : {"", ".trans"}) {
        for (const char* type : {"b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"})
          if (shape != std::string("m16n8"))
            out.push_back(fmt::format("ldmatrix.sync.aligned.{}.x{}{}.shared.{} {}, [%bw40];", shape, n, trans, type,
                                      register_list(0, shape == std::string("m16n16") ? 2 * n : n)));
        if (shape == std::string("m16n8"))
          out.push_back(fmt::format("stmatrix.sync.aligned.{}.x{}{}.shared.b8 [%bw40], {};", shape, n, trans, register_list(0, n)));
      }
  for (const char* to : {"e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"})
    for (const char* mods : {"", ".satfinite", ".relu.satfinite", ".relu"})
      out.push_back(fmt::format("cvt.rs{}.{}.f32 %bw0, {}, %bw9;", mods, to, a4));
  out.push_back("cvt.rs.satfinite.e2m1x4.f32 %bh0, " + a4 + ", %bw9;");
  return out;
}

TEST(OracleNarrow, AcceptsWhatTheTableAccepts) {
  EXPECT_GT(compare_modules(narrow_statements(), "8.7", "sm_120a"), 200);
  EXPECT_GT(compare_modules(narrow_statements(), "8.7", "sm_100a"), 20);
  EXPECT_EQ(compare_modules(narrow_statements(), "8.7", "sm_120"), 0);
}

// Rows with vectors of registers are beyond variants_of: these statements are written out, and judged as modules.
TEST(OracleWgmma, AcceptsWhatTheTableAccepts) { EXPECT_GT(compare_modules(wgmma_statements(), "8.6", "sm_90a"), 1000); }

}  // namespace
}  // namespace tcsim::isa
