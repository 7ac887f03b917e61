// Which PTX runs on which machine: older targets on newer machines, 'a' targets on their own only.
#include "sim/gpu/target_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/config/load.h"

namespace tcsim::sim {
namespace {

/// The diagnostic, or "" when the module may run.
std::string check(const std::string& version, const std::string& target, const std::string& machine, const std::string& body) {
  Diagnostics diags;
  const std::string ptx = fmt::format(
      ".version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"
      ".shared .align 16 .b8 s[64];\n{}\nret;\n}}\n",
      version, target, body);
  const auto module = isa::load_module("k.ptx", ptx, diags);
  const auto chip = cfg::load_machine(machine, {}, diags);
  EXPECT_TRUE(module && chip && !diags.has_errors()) << (diags.all().empty() ? "" : diags.all()[0].str());
  if (!module || !chip || check_target(*module, *chip, diags)) return {};
  return diags.all()[0].kind + " " + diags.all()[0].str();
}

TEST(TargetCheck, OlderCodeRunsOnNewerMachines) {
  EXPECT_EQ(check("7.0", "sm_75", "t4", ""), "");
  EXPECT_EQ(check("7.0", "sm_70", "t4", ""), "");
  EXPECT_EQ(check("7.0", "sm_75", "h200", ""), "");
}

TEST(TargetCheck, NewerCodeIsRefusedAndTheInstructionNamed) {
  EXPECT_EQ(check("7.0", "sm_80", "t4", "mov.u32 %r1, s;\ncp.async.wait_all;"),
            "target-version k.ptx:10:1: error: found .target sm_80, but machine t4 is sm_75: 'cp.async.wait_all' needs sm_80, "
            "expected a machine of sm_80 or later, or PTX for sm_75");
  EXPECT_EQ(check("7.8", "sm_90", "a100", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};"),
            "target-version k.ptx:9:1: error: found .target sm_90, but machine a100 is sm_80: 'stmatrix.sync.aligned.m8n8.x1.shared.b16' "
            "needs sm_90, expected a machine of sm_90 or later, or PTX for sm_80");
  // Nothing in it is newer, and a driver refuses it all the same.
  EXPECT_EQ(check("7.0", "sm_80", "t4", ""),
            "target-version k.ptx:1:1: error: found .target sm_80, but machine t4 is sm_75, expected a machine of sm_80 or later, or PTX for sm_75");
}

TEST(TargetCheck, ArchitectureSpecificCodeRunsOnItsOwnChipOnly) {
  EXPECT_EQ(check("8.0", "sm_90a", "h200", ""), "");
  EXPECT_EQ(check("8.0", "sm_80", "h200", ""), "");
  EXPECT_NE(check("8.0", "sm_90a", "a100", "").find("expected a machine of sm_90, or PTX for sm_80"), std::string::npos);
}

}  // namespace
}  // namespace tcsim::sim
