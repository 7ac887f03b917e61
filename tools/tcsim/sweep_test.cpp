#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tools/tcsim/program.h"
#include "tools/tcsim/sweep_axis.h"
#include "tools/tcsim/sweep_row.h"
#include "validation/compare/measurements.h"

namespace tcsim::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Axis, NumbersAndRanges) {
  std::vector<uint32_t> out;
  EXPECT_EQ(parse_numbers("1,2,8:16:4", out), "");
  EXPECT_THAT(out, ElementsAre(1, 2, 8, 12, 16));
  EXPECT_EQ(parse_numbers("1:6", out), "");
  EXPECT_EQ(out.size(), 6u);
  EXPECT_EQ(parse_numbers("1:6:4", out), "");  // 9 is past the end
  EXPECT_THAT(out, ElementsAre(1, 5));
  for (const char* wrong : {"", "a", "1:", "3:1", "1:5:0", "1:2:3:4", "1:100000", "-1", "1.5"}) EXPECT_NE(parse_numbers(wrong, out), "") << wrong;
}

TEST(Axis, Tiles) {
  std::vector<std::array<uint32_t, 3>> out;
  EXPECT_EQ(parse_extents<3>("64x64x32,64:128:64x128x32:64:32", out), "");
  using Tile = std::array<uint32_t, 3>;
  EXPECT_THAT(out, ElementsAre(Tile{64, 64, 32}, Tile{64, 128, 32}, Tile{64, 128, 64}, Tile{128, 128, 32}, Tile{128, 128, 64}));
  EXPECT_THAT(parse_extents<3>("64x64", out), HasSubstr("'64x64', expected 3 numbers"));
  EXPECT_THAT(parse_extents<3>("64:128x64x32", out), HasSubstr("'64:128': a range of a tile needs a step"));
}

TEST(Axis, MachineValues) {
  MachineValues out;
  EXPECT_EQ(parse_machine_values("smem.banks=32,64", out), "");
  EXPECT_EQ(out, (MachineValues{"smem.banks", {"32", "64"}}));
  EXPECT_EQ(parse_machine_values("a.b=10:30:10,\"x,y\",[16,18]", out), "");
  EXPECT_THAT(out.second, ElementsAre("10", "20", "30", "\"x,y\"", "[16,18]"));
  for (const char* wrong : {"smem.banks", "banks=3", "smem.banks="}) EXPECT_NE(parse_machine_values(wrong, out), "") << wrong;
}

// The columns of the CUTLASS profiler come first, in its order.
TEST(Row, StartsAsCutlass) {
  EXPECT_TRUE(sweep_csv_head().starts_with("Problem,Provider,OperationKind,Operation,Disposition,Status,"));
  EXPECT_THAT(sweep_csv_head(), HasSubstr(",Bytes,Flops,Flops/Byte,Runtime,GB/s,GFLOPs,"));
  SweepRow row;
  row["reason"] = "a \"b\",\nc";
  EXPECT_THAT(sweep_csv_line(row), HasSubstr(",\"a  b , c\","));  // one line, one cell
}

class Sweep : public testing::Test {
 protected:
  std::vector<SweepRow> rows(const std::string& file) const {
    Diagnostics diags;
    const compare::CsvTable table = compare::parse_csv(file, box_.read(file), diags);
    EXPECT_FALSE(diags.has_errors());
    std::vector<SweepRow> out(table.rows.size());
    for (size_t r = 0; r < out.size(); ++r)
      for (size_t c = 0; c < table.header.size(); ++c) out[r][table.header[c]] = table.rows[r][c];
    return out;
  }
  Sandbox box_;
};

// 2 machines x 2 tiles x 3 stages. 128x128x64 f16: (128 + 128) x 64 x 2 = 32768 B a stage; 8 stages are 262144 B, more than the 232448 B
// (227 KiB) of a CTA on Hopper and the 166912 B (163 KiB) on A100 (CUDA Programming Guide, compute capabilities).
TEST_F(Sweep, EveryPointIsARow) {
  const Outcome ran =
      box_.run("sweep --arch h200,a100 -m 256 -n 256 -k 128 --tile 64x64x32,128x128x64 --stages 2,3,8 --jobs 2 --csv s.csv --html s.html");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::vector<SweepRow> all = rows("s.csv");
  EXPECT_EQ(all.size(), 12u);
  std::set<std::string> keys;
  for (const SweepRow& row : all) {
    keys.insert(row.key());
    const bool fits = row.at("tile") == "64x64x32" || row.at("stages") != "8";
    EXPECT_EQ(row.ran(), fits) << row.at("tile") << " " << row.at("stages");
    if (!fits) {
      EXPECT_EQ(row.at("reason"), row.at("arch") == "h200" ? "smem 262144 > 232448 B" : "smem 262144 > 166912 B");
      EXPECT_EQ(row.at("Status"), "not_supported");
      EXPECT_THAT(row.at("shared_budget"), HasSubstr("A 8 stages x 16384 B, B 8 stages x 16384 B"));
      continue;
    }
    EXPECT_EQ(row.at("Status"), "success");
    EXPECT_EQ(row.number("Flops"), 2.0 * 256 * 256 * 128);
    EXPECT_EQ(row.number("Bytes"), 2.0 * (256 * 128 * 2 + 256 * 256));
    EXPECT_NEAR(row.number("GFLOPs"), row.number("Flops") / row.number("Runtime") * 1e-6, row.number("GFLOPs") * 1e-4);
    EXPECT_GT(row.number("occupancy"), 0);
    EXPECT_FALSE(row.at("bound_by").empty());
    EXPECT_FALSE(row.at("stalls").empty());
  }
  EXPECT_EQ(keys.size(), 12u);
  for (const char* text : {"h200, 256 x 256 x 128", "a100, 256 x 256 x 128", "rank", "cannot run:",
                           "smem 262144 > 232448 B  (A 8 stages x 16384 B, B 8 stages x 16384 B; at most 7 stages fit)", "at most 5 stages fit",
                           "winner: ", "against the runner-up", "bytes in flight", "stalls moved", "against the default, 128x128x32, 3 stages"})
    EXPECT_THAT(ran.out, HasSubstr(text));
  EXPECT_THAT(box_.read("s.html"), HasSubstr("smem 262144 > 232448 B"));
}

// More banks are no slower where conflicts bind; the values are told apart by their column.
TEST_F(Sweep, MachineParameters) {
  const Outcome ran = box_.run("sweep -m 256 -n 256 -k 64 --swizzle none,xor --set smem.banks=32,64 --csv s.csv --quiet");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  std::map<std::string, double> cycles;
  for (const SweepRow& row : rows("s.csv")) cycles[row.at("set") + " " + row.at("swizzle")] = row.number("cycles");
  EXPECT_EQ(cycles.size(), 4u);
  EXPECT_LE(cycles["smem.banks=64 none"], cycles["smem.banks=32 none"]);
  EXPECT_LT(cycles["smem.banks=32 xor"], cycles["smem.banks=32 none"]);
}

TEST_F(Sweep, GoesOnFromItsFile) {
  const std::string arguments = "sweep -m 128 -n 128 -k 64 --tile 64x64x32 --stages 1:4 --csv s.csv --append --quiet";
  EXPECT_EQ(box_.run(arguments).code, 0);
  const std::string whole = box_.read("s.csv");
  EXPECT_EQ(rows("s.csv").size(), 4u);
  EXPECT_EQ(box_.run(arguments).code, 0);
  EXPECT_EQ(box_.read("s.csv"), whole);  // nothing was repeated
  // Two rows and the beginning of a third.
  size_t at = 0;
  for (int line = 0; line < 3; ++line) at = whole.find('\n', at) + 1;
  box_.write("s.csv", whole.substr(0, at + 40));
  const Outcome again = box_.run(arguments.substr(0, arguments.size() - 8));
  EXPECT_THAT(again.err, HasSubstr("s.csv: 2 of 4 points are done"));
  EXPECT_EQ(rows("s.csv").size(), 4u);
  EXPECT_TRUE(box_.read("s.csv").starts_with(whole.substr(0, at)));
  EXPECT_THAT(again.out, HasSubstr("4 points"));
  // A longer list adds to it; without --append it begins anew.
  EXPECT_EQ(box_.run("sweep -m 128 -n 128 -k 64 --tile 64x64x32 --stages 1:6 --csv s.csv --append --quiet").code, 0);
  EXPECT_EQ(rows("s.csv").size(), 6u);
  EXPECT_EQ(box_.run("sweep -m 128 -n 128 -k 64 --tile 64x64x32 --stages 1 --csv s.csv --quiet").code, 0);
  EXPECT_EQ(rows("s.csv").size(), 1u);
}

TEST_F(Sweep, FolderOfCompiledKernels) {
  box_.write("k/left_out.ptx", "");
  for (const char* stages : {"1", "3"})
    ASSERT_EQ(box_.run(fmt::format("gemm -m 128 -n 128 -k 64 --tile 64x64x32 --stages {0} --emit-ptx k/s{0}.ptx --no-run", stages)).code, 0);
  const Outcome ran = box_.run("sweep k --arch h200,a100 --csv s.csv");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("without a launch file, left out: left_out.ptx"));
  const std::vector<SweepRow> all = rows("s.csv");
  ASSERT_EQ(all.size(), 4u);
  // The same kernel as from the generator, so the same time.
  EXPECT_EQ(box_.run("sweep -m 128 -n 128 -k 64 --tile 64x64x32 --arch h200,a100 --stages 1,3 --csv g.csv --quiet").code, 0);
  std::map<std::string, double> generated;
  for (const SweepRow& row : rows("g.csv")) generated[row.at("arch") + "k/s" + row.at("stages") + ".ptx"] = row.number("cycles");
  for (const SweepRow& row : all) EXPECT_EQ(row.number("cycles"), generated.at(row.at("arch") + row.at("kernel"))) << row.at("kernel");
}

// A style that does not take an option is a row with the reason, and the other points run.
TEST_F(Sweep, CombinationsThatAStyleDoesNotTakeAreRows) {
  const Outcome ran = box_.run(
      "sweep --style hopper-tma,ampere -m 128 -n 128 -k 64 --tile 64x64x64 --stages 2 --cluster 1x1,2x1 --swizzle none,xor --csv s.csv --quiet");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::vector<SweepRow> all = rows("s.csv");
  EXPECT_EQ(all.size(), 8u);
  for (const SweepRow& row : all) {
    const bool hopper = row.at("style") == "hopper-tma", can = hopper ? row.at("swizzle") == "none" : row.at("cluster") == "1x1";
    EXPECT_EQ(row.ran(), can) << row.key();
    if (!can) { EXPECT_THAT(row.at("reason"), HasSubstr(hopper ? "--swizzle xor is for" : "--cluster is for")); }
  }
}

// Without --style the machine decides, and so do the stages: cp.async needs sm_80 (PTX ISA), which T4 and V100 do not have.
TEST_F(Sweep, DefaultsOfOlderMachines) {
  EXPECT_EQ(box_.run("sweep --arch t4,v100,a100 -m 128 -n 128 -k 64 --csv s.csv --quiet").code, 0);
  std::map<std::string, std::string> styles;
  for (const SweepRow& row : rows("s.csv")) {
    EXPECT_TRUE(row.ran()) << row.at("reason");
    styles[row.at("arch")] = row.at("style") + " " + row.at("stages");
  }
  EXPECT_EQ(styles, (std::map<std::string, std::string>{{"t4", "turing 2"}, {"v100", "volta 2"}, {"a100", "ampere 3"}}));
  EXPECT_EQ(box_.run("gemm --arch t4 --style wmma -m 128 -n 128 -k 64 --mode timing --quiet").code, 0);
  EXPECT_THAT(box_.run("gemm --arch b200 -m 128 -n 128 -k 64 --mode timing").err, HasSubstr("--style blackwell"));
}

TEST_F(Sweep, WrongInput) {
  const auto said = [&](const std::string& arguments) {
    const Outcome out = box_.run("sweep " + arguments);
    return fmt::format("{}: {}", out.code, out.err);
  };
  EXPECT_THAT(said("--stages 3:1"), HasSubstr("2: tcsim: error: --stages: '3:1': the range ends before it begins"));
  EXPECT_THAT(said("--tile 64x64"), HasSubstr("2: tcsim: error: --tile: '64x64', expected 3"));
  EXPECT_THAT(said("--style kepler"), HasSubstr("2: tcsim: error: --style: 'kepler', expected simt"));
  EXPECT_THAT(said("--append"), HasSubstr("2: tcsim: error: --append needs --csv FILE"));
  EXPECT_THAT(said("--arch h200,g80"), HasSubstr("1: "));
  EXPECT_THAT(said("--set smem.banks=32 --set smem.banks=64"), HasSubstr("2: tcsim: error: --set: 'smem.banks' is given twice"));
  EXPECT_THAT(said("nowhere"), HasSubstr("1: nowhere: error: cannot read the folder"));
  box_.write("empty/readme", "");
  EXPECT_THAT(said("empty"), HasSubstr("1: empty: error: nothing to sweep"));
  EXPECT_THAT(said("empty --tile 64x64x32"), HasSubstr("2: tcsim: error: --tile is for generated kernels"));
  box_.write("other.csv", "a,b\n1,2\n");
  EXPECT_THAT(said("--csv other.csv --append"), HasSubstr("1: other.csv:1:1: error: this is no CSV of a sweep"));
  EXPECT_EQ(box_.read("other.csv"), "a,b\n1,2\n");
  // No point can run: not a success.
  EXPECT_EQ(box_.run("sweep --arch a100 -m 128 -n 128 -k 64 --style hopper-ws --quiet").code, 1);
}

}  // namespace
}  // namespace tcsim::tool
