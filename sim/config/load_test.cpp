#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/config/fields.h"
#include "sim/config/load.h"

namespace tcsim::cfg {
namespace {

std::string all_text(const Diagnostics& diags) {
  std::string out;
  for (const auto& d : diags.all()) out += d.str() + "\n";
  return out;
}

/// A machine file derived from h200 with the given lines added.
std::optional<Machine> derived(const std::string& lines, Diagnostics& diags, const std::vector<std::pair<std::string, std::string>>& set = {}) {
  return load_machine_text("name = \"x\"\nbase = \"h200\"\n" + lines, "x.toml", set, diags);
}

TEST(LoadMachine, H200HasTheChipsFacts) {
  Diagnostics diags;
  const auto m = load_machine("h200", {}, diags);
  ASSERT_TRUE(m) << all_text(diags);
  // H100 whitepaper: 132 SMs (SXM5), 50 MB of L2; CUDA guide, cc 9.0: 64 warps, 65536 registers, 228 KiB
  // shared memory.
  EXPECT_EQ(m->chip.sms, 132u);
  EXPECT_EQ(m->chip.sm, 90u);
  EXPECT_EQ(m->l2.bytes, 52428800u);
  EXPECT_EQ(m->limits.max_warps, 64u);
  EXPECT_EQ(m->limits.registers, 65536u);
  EXPECT_EQ(m->limits.smem_bytes, 233472u);
  EXPECT_EQ(m->limits.smem_carveouts_bytes.back(), 233472u);
  EXPECT_TRUE(m->scheduler.greedy);
  EXPECT_EQ(m->smem.banks, 32u);
}

TEST(LoadMachine, EveryValueHasProvenance) {
  Diagnostics diags;
  const auto m = load_machine("h200", {}, diags);
  ASSERT_TRUE(m);
  const auto of_hopper = std::count_if(fields().begin(), fields().end(), [](const Field& f) { return f.since_sm <= 90 && f.before_sm > 90; });
  EXPECT_EQ(m->provenance.size(), static_cast<size_t>(of_hopper) + m->mma.size() * mma_field_names().size());
  const auto assumed = std::count_if(m->provenance.begin(), m->provenance.end(), [](const auto& p) { return p.source.starts_with("assumed:"); });
  EXPECT_EQ(m->assumed_values, static_cast<uint32_t>(assumed));
  for (const auto& p : m->provenance) EXPECT_FALSE(p.source.empty()) << p.key;
}

TEST(LoadMachine, SetChangesAValueAndIsRecorded) {
  Diagnostics diags;
  const auto m = load_machine("h200",
                              {{"smem.banks", "64"},
                               {"timing.lds.latency", "31"},
                               {"mma.m16n8k16.f32.f16.interval", "4"},
                               {"mma.\"m16n8k8.f32.f16\".interval", "7"},
                               {"scheduler.greedy", "false"},
                               {"l2.slice_bytes_per_cycle", "32.5"},
                               {"limits.smem_carveouts_bytes", "[0, 233472]"}},
                              diags);
  ASSERT_TRUE(m) << all_text(diags);
  EXPECT_EQ(m->smem.banks, 64u);
  EXPECT_EQ(m->of(isa::TimingClass::lds).latency, 31u);
  EXPECT_EQ(m->mma.at("m16n8k16.f32.f16").interval, 4u);
  EXPECT_EQ(m->mma.at("m16n8k8.f32.f16").interval, 7u);
  EXPECT_FALSE(m->scheduler.greedy);
  EXPECT_DOUBLE_EQ(m->l2.slice_bytes_per_cycle, 32.5);
  EXPECT_EQ(m->limits.smem_carveouts_bytes, (std::vector<uint32_t>{0, 233472}));
  EXPECT_EQ(m->overrides.at("smem.banks"), "64");
  const auto p = std::find_if(m->provenance.begin(), m->provenance.end(), [](const auto& v) { return v.key == "smem.banks"; });
  EXPECT_EQ(p->source, "set: command line");
}

TEST(LoadMachine, SetOfAnUnknownKeyNamesTheNearest) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine("h200", {{"smem.bank", "64"}}, diags));
  ASSERT_EQ(diags.error_count(), 1u);
  EXPECT_EQ(diags.all()[0].str(),
            "--set smem.bank=64: error: found unknown key 'smem.bank', expected "
            "'smem.banks' or another that 'tcsim arch show' lists");
}

TEST(LoadMachine, SetOfAValueThatTheTimingDoesNotReadWarns) {
  Diagnostics diags;
  EXPECT_TRUE(load_machine("h200", {{"scheduler.issue_per_cycle", "2"}, {"mma.m16n8k16.f32.f16.latency_b", "9"}, {"smem.banks", "64"}}, diags));
  ASSERT_EQ(diags.all().size(), 2u) << all_text(diags);
  EXPECT_EQ(diags.all()[0].str(), "--set scheduler.issue_per_cycle=2: warning: the timing model does not read this value: times stay the same");
  EXPECT_TRUE(diags.all()[1].str().starts_with("--set mma.m16n8k16.f32.f16.latency_b=9: warning: "));
}

TEST(LoadMachine, SetOfABadValueSaysWhatWasExpected) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine("h200", {{"smem.banks", "many"}, {"smem.wavefront_cycles", "-1"}}, diags));
  EXPECT_EQ(all_text(diags),
            "--set smem.banks=many: error: found \"many\" for smem.banks, expected an integer from 1 to 1024\n"
            "--set smem.wavefront_cycles=-1: error: found \"-1\" for smem.wavefront_cycles, expected a number from "
            "0.125 to 64\n");
}

TEST(LoadMachine, AllProblemsComeInOneRunWithTheirPlaces) {
  Diagnostics diags;
  EXPECT_FALSE(
      derived("[smem]\n"
              "banks = 64\n"
              "bankz = { value = 1, source = \"doc:x\" }\n"
              "mio_queue = { value = \"many\", source = \"doc:x\" }\n"
              "issue_interval = { value = 2, source = \"rumour\" }\n"
              "wavefront_cycles = { value = 2 }\n",
              diags));
  const std::string text = all_text(diags);
  EXPECT_NE(text.find("x.toml:4:9: error: found 64 for smem.banks, expected { value = ..., source = \"...\" }"), std::string::npos) << text;
  EXPECT_NE(text.find("x.toml:5:19: error: found unknown key 'smem.bankz', expected 'smem.banks'"), std::string::npos) << text;
  EXPECT_NE(text.find("x.toml:6:23: error: found \"many\" for smem.mio_queue, expected an integer from 1 to 1024"), std::string::npos) << text;
  EXPECT_NE(text.find("x.toml:7:40: error: found source \"rumour\" for smem.issue_interval"), std::string::npos) << text;
  EXPECT_NE(text.find("x.toml:8:20: error: found no source for smem.wavefront_cycles"), std::string::npos) << text;
  EXPECT_EQ(diags.error_count(), 5u);
}

TEST(LoadMachine, AMissingValueIsAnErrorForEachKey) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine_text("name = \"x\"\n[smem]\nbanks = { value = 32, source = \"doc:x\" }\n", "x.toml", {}, diags));
  // What only newer chips have is asked for only from them.
  const auto every = std::count_if(fields().begin(), fields().end(), [](const Field& f) { return f.since_sm == 0; });
  EXPECT_EQ(diags.error_count(), static_cast<size_t>(every) - 1);
  EXPECT_EQ(diags.all()[0].str(),
            "x.toml:1:1: error: found no value for chip.generation, expected { value = ..., source = \"...\" } "
            "(volta, turing, ampere, ada, hopper, blackwell or rtx_blackwell: selects tensor-core arithmetic)");
}

TEST(LoadMachine, BrokenTomlGivesItsPlace) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine_text("name = \"x\"\n[smem\n", "x.toml", {}, diags));
  ASSERT_EQ(diags.error_count(), 1u);
  EXPECT_EQ(diags.all()[0].kind, "syntax");
  EXPECT_EQ(diags.all()[0].place.line, 2u);
  Diagnostics stray;
  EXPECT_FALSE(load_machine_text("name = \"é\" # ü\n k\xc3\xa4y = 1\n", "x.toml", {}, stray));
  EXPECT_EQ(all_text(stray), "x.toml:2:3: error: found a character outside ASCII, expected ASCII outside strings and comments\n");
  EXPECT_FALSE(load_machine_text("", "empty.toml", {}, diags));
  EXPECT_FALSE(load_machine_text(std::string_view("\xff\xfe\x00\x01", 4), "binary.toml", {}, diags));
}

TEST(LoadMachine, UnknownMachineListsTheBuiltinOnes) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine("gtx9000", {}, diags));
  ASSERT_EQ(diags.error_count(), 1u);
  EXPECT_EQ(diags.all()[0].str().find("gtx9000: error: found no such machine, expected a machine file or one of: "), 0u);
  EXPECT_NE(diags.all()[0].text.find("h200"), std::string::npos);
}

TEST(LoadMachine, ADerivedMachineGivesOnlyWhatDiffers) {
  Diagnostics diags;
  const auto m = derived("[chip]\nsms = { value = 114, source = \"doc:H100 PCIe\" }\n", diags);
  ASSERT_TRUE(m) << all_text(diags);
  EXPECT_EQ(m->chip.sms, 114u);
  EXPECT_EQ(m->limits.max_warps, 64u);
  EXPECT_EQ(m->name, "x");
}

TEST(LoadMachine, ValuesOfAnotherChipAreAssumptions) {
  Diagnostics diags;
  const auto newer = derived(
      "[chip]\nsm = { value = 120, source = \"doc:x\" }\n"
      "[timing.launch_cancel]\nlatency = { value = 1, source = \"doc:x\" }\n"
      "interval = { value = 1, source = \"doc:x\" }\nstall = { value = 1, source = \"doc:x\" }\n",
      diags);
  ASSERT_TRUE(newer) << all_text(diags);
  for (const auto& p : newer->provenance) {
    EXPECT_EQ(p.source.starts_with("assumed:as on h200, there ") || p.source.starts_with("as "),
              p.key != "chip.sm" && !p.key.starts_with("timing.launch_cancel."))
        << p.key << " " << p.source;
    EXPECT_FALSE(p.key.starts_with("wgmma.")) << p.key;  // sm_120 has no such unit
  }
  EXPECT_TRUE(newer->mma.contains("m16n8k32.f32.e4m3"));
  // An older chip need not have the newer one's matrix instructions.
  const auto older = derived("[chip]\nsm = { value = 80, source = \"doc:x\" }\n", diags);
  ASSERT_TRUE(older) << all_text(diags);
  EXPECT_TRUE(older->mma.empty());
  Diagnostics bad;
  EXPECT_FALSE(derived("[chip]\nsm = { value = 80, source = \"doc:x\" }\n[wgmma]\nlatency = { value = 3, source = \"doc:x\" }\n", bad));
  EXPECT_EQ(all_text(bad), "x.toml:6:21: error: found wgmma.latency, which sm_80 has not, expected no such key\n");
}

TEST(LoadMachine, BasesMayNotGoInCircles) {
  const auto folder = std::filesystem::temp_directory_path() / "tcsim_load_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.toml") << "name = \"a\"\nbase = \"b.toml\"\n";
  std::ofstream(folder / "b.toml") << "name = \"b\"\nbase = \"a.toml\"\n";
  Diagnostics diags;
  EXPECT_FALSE(load_machine((folder / "a.toml").string(), {}, diags));
  EXPECT_NE(all_text(diags).find("is derived from this machine"), std::string::npos) << all_text(diags);
  std::filesystem::remove_all(folder);
}

TEST(LoadMachine, ARowMayShareTheValuesOfAnother) {
  Diagnostics diags;
  const auto m = derived(
      "[mma.\"m16n8k16.f32.e3m2\"]\nsame_as = \"m16n8k16.f32.f16\"\n"
      "latency = { value = 77, source = \"doc:x\" }\n",
      diags, {{"mma.m16n8k16.f32.f16.interval", "9"}});
  ASSERT_TRUE(m) << all_text(diags);
  EXPECT_EQ(m->mma.at("m16n8k16.f32.e3m2").latency, 77u);  // its own
  EXPECT_EQ(m->mma.at("m16n8k16.f32.e3m2").interval, 9u);  // shared, after --set
  Diagnostics bad;
  EXPECT_FALSE(derived("[mma.\"m16n8k16.f32.e3m2\"]\nsame_as = \"m16n8k16.f32.e2m3\"\n", bad));
  EXPECT_EQ(all_text(bad),
            "x.toml:4:11: error: found same_as = \"m16n8k16.f32.e2m3\", expected another mma "
            "row that has values\n");
  Diagnostics circle;
  EXPECT_FALSE(derived("[mma.\"m1n1k1.a.b\"]\nsame_as = \"m1n1k1.a.c\"\n[mma.\"m1n1k1.a.c\"]\nsame_as = \"m1n1k1.a.b\"\n", circle));
}

TEST(LoadMachine, ValuesMustFitTogether) {
  Diagnostics diags;
  EXPECT_FALSE(load_machine("h200", {{"smem.banks", "48"}, {"l2.slices", "95"}, {"limits.smem_per_cta_bytes", "300000"}}, diags));
  const std::string text = all_text(diags);
  EXPECT_NE(text.find("--set smem.banks=48: error: found smem.banks = 48, expected a power of two"), std::string::npos) << text;
  EXPECT_NE(text.find("found l2.slices = 95, expected a multiple of chip.partitions = 2"), std::string::npos) << text;
  EXPECT_NE(text.find("found limits.smem_per_cta_bytes = 300000, expected at most limits.smem_bytes = 233472"), std::string::npos) << text;
}

TEST(SplitMmaKey, TakesTheRowWithItsDots) {
  EXPECT_EQ(split_mma_key("mma.m16n8k16.f32.f16.interval")->row, "m16n8k16.f32.f16");
  EXPECT_EQ(split_mma_key("mma.'m16n8k16.f32.f16'.interval")->field, "interval");
  EXPECT_FALSE(split_mma_key("smem.banks"));
  EXPECT_FALSE(split_mma_key("mma.interval"));
}

}  // namespace
}  // namespace tcsim::cfg
