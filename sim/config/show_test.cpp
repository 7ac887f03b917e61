#include "sim/config/show.h"

#include <gtest/gtest.h>

#include "sim/config/fields.h"

namespace tcsim::cfg {
namespace {

/// A machine of three values, made by hand.
Machine small(const std::string& name, const std::string& banks, const std::string& source) {
  Machine m;
  m.name = name;
  m.path = name + ".toml";
  m.description = "made by hand";
  m.provenance = {{"smem.banks", banks, "", source, "shared-memory banks"},
                  {"timing.lds.latency", "23", "cycles", "measured:x.json", "load from shared memory: issue to use"},
                  {"timing.lds.interval", "4", "cycles", "assumed:a guess", "load from shared memory: pipe"}};
  m.assumed_values = 1;
  return m;
}

TEST(ShowMachine, GroupsValuesAndMarksAssumedOnes) {
  EXPECT_EQ(show_machine(small("one", "32", "doc:guide")),
            "one: made by hand\n"
            "3 values, 1 assumed (marked ?), from one.toml\n"
            "\n"
            "[smem] shared memory and the memory-input (MIO) pipe in front of it\n"
            "  banks  32                shared-memory banks\n"
            "         doc:guide\n"
            "\n"
            "[timing] warp instructions by class\n"
            "? lds                    latency 23, interval 4  load from shared memory\n"
            "    latency: measured:x.json\n"
            "    interval: assumed:a guess\n");
}

TEST(ShowMachine, OnlyShowsOneSectionWhenAsked) {
  const std::string text = show_machine(small("one", "32", "doc:guide"), {.only = "smem"});
  EXPECT_NE(text.find("banks"), std::string::npos);
  EXPECT_EQ(text.find("lds"), std::string::npos);
}

TEST(DiffMachines, ShowsOnlyWhatDiffers) {
  Machine b = small("two", "64", "assumed:why not");
  b.provenance.push_back({"mma.m16n8k8.f32.f16.interval", "4", "cycles", "doc:x", ""});
  EXPECT_EQ(diff_machines(small("one", "32", "doc:guide"), b),
            "key                           one  two   unit\n"
            "smem.banks                    32   64 ?  \n"
            "mma.m16n8k8.f32.f16.interval  -    4     cycles\n"
            "2 of 4 values differ ('?': assumed)\n");
}

TEST(ListMachines, HasALineForEach) {
  const std::string text = list_machines();
  for (const auto& name : builtin_machines()) EXPECT_NE(text.find(name + " "), std::string::npos) << name;
  EXPECT_EQ(text.find("cannot be loaded"), std::string::npos) << text;
}

TEST(DescribeFields, NamesEveryField) {
  const std::string text = describe_fields();
  for (const auto& f : fields()) EXPECT_NE(text.find("`" + f.key + "`"), std::string::npos) << f.key;
  EXPECT_NE(text.find("`mma.SHAPE.D.A.latency_b`"), std::string::npos);
}

}  // namespace
}  // namespace tcsim::cfg
