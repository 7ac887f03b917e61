// The layout verbs as a user runs them: every verb, every format, both ways, the answers to public reports, and what bad input gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using Json = nlohmann::json;

Outcome run(const std::string& arguments) { return Sandbox().run(arguments); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
void expect_says(const std::string& text, std::string_view part) { EXPECT_TRUE(has(text, part)) << "no '" << part << "' in:\n" << text; }

TEST(LayoutCommand, FullNamesAndBadNumbers) {
  EXPECT_EQ(run("layout mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --operand A --element 9,3").out,
            "A[9][3]: lane 5, register 1, bits 16-31\n");
  const Outcome negative = run("layout mma.m16n8k16.f16 --element -1,3");
  EXPECT_EQ(negative.code, 2);
  EXPECT_LT(negative.err.size(), 200u) << negative.err;
  expect_says(run("layout tcgen05.mma.cta_group::1.kind::f16").err, "M and N are in its instruction descriptor");
}

// The interface's example: PTX ISA, m16n8k16: row 9 = 1 + 8, column 3 = 2 * 1 + 1: lane 5, a3: register 1, upper half.
TEST(LayoutCommand, ElementAndPlace) {
  EXPECT_EQ(run("layout mma.m16n8k16.f16 --operand A --element 9,3 --format json").out,
            "{\"operand\":\"A\",\"row\":9,\"col\":3,\"lane\":5,\"register\":1,\"bit_lo\":16,\"bit_hi\":31}\n");
  EXPECT_EQ(run("layout mma.m16n8k16.f16 --operand A --element 9,3").out, "A[9][3]: lane 5, register 1, bits 16-31\n");
  EXPECT_EQ(run("layout mma.m16n8k16.f16 --operand A --lane 5 --register 1").out,
            "A[9][2]: lane 5, register 1, bits 0-15\nA[9][3]: lane 5, register 1, bits 16-31\n");
  const Json both = Json::parse(run("layout mma.m16n8k16.f16 --operand A --lane 5 --register 1 --format json").out);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].at("col"), 3);
  // Without an operand: of all of them. Lane 5's register 0 of B: rows 2 and 3 of column 1; of C: C[1][2].
  const std::string all = run("layout mma.m16n8k16.f16 --lane 5 --register 0").out;
  for (const char* part : {"A[1][2]", "A[1][3]", "B[2][1]", "B[3][1]", "C[1][2]", "D[1][2]"}) expect_says(all, part);
  // Warps, Tensor Memory, shared memory. D[41][77] of wgmma: row 41 = 16 * 2 + 1 + 8, column 77 = 8 * 9 + 2 * 2 + 1: element 4 * 9 + 3.
  EXPECT_EQ(run("layout wgmma.m64n128k16.f16 --operand D --element 41,77").out, "D[41][77]: warp 2, lane 6, register 39, bits 0-31\n");
  EXPECT_EQ(run("layout wgmma.m64n128k16.f16 --operand D --warp 2 --lane 6 --register 39").out,
            "D[41][77]: warp 2, lane 6, register 39, bits 0-31\n");
  EXPECT_EQ(run("layout wgmma.m64n128k16.f16 --operand B --element 10,3 --swizzle 128B").out,
            "B[10][3]: byte 0x1a4 of shared memory, bank 9, bits 0-15\n");
  EXPECT_EQ(run("layout wgmma.m64n128k16.f16 --operand B --shared 420").out, "B[10][3]: byte 0x1a4 of shared memory, bank 9, bits 0-15\n");
  EXPECT_EQ(run("layout tcgen05.mma.m64n128k16.f16 --operand D --element 17,5").out, "D[17][5]: TMEM lane 33, TMEM column 5, bits 0-31\n");
  EXPECT_EQ(run("layout tcgen05.mma.m64n128k16.f16 --operand D --tmem-lane 33 --tmem-column 5").out,
            "D[17][5]: TMEM lane 33, TMEM column 5, bits 0-31\n");
}

TEST(LayoutCommand, Formats) {
  const Sandbox box;
  const auto draw = [&](const std::string& format, const std::string& more = "") {
    return box.run("layout mma.m16n8k16.f16 --operand A --format " + format + " " + more);
  };
  expect_says(draw("ascii").out, "T0:a0  T0:a1  T1:a0");  // the manual's figure, row 0
  expect_says(draw("ascii", "--by lane").out, "(9,2)(9,3)");
  const std::string csv = draw("csv").out;
  EXPECT_TRUE(csv.starts_with("operand,row,col,lane,register,bit_lo,bit_hi\nA,0,0,0,0,0,15\n")) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 256);
  expect_says(csv, "\nA,9,3,5,1,16,31\n");
  EXPECT_TRUE(
      draw("csv", "--by lane").out.starts_with("operand,row,col,lane,register,bit_lo,bit_hi\nA,0,0,0,0,0,15\nA,0,1,0,0,16,31\nA,8,0,0,1,0,15\n"));
  expect_says(draw("markdown").out, "| **9** |");
  EXPECT_EQ(Json::parse(draw("json").out).at("elements").size(), 256u);
  EXPECT_EQ(draw("svg", "-o a.svg").code, 0);
  EXPECT_TRUE(box.read("a.svg").starts_with("<svg xmlns=")) << box.read("a.svg").substr(0, 80);
  expect_says(box.read("a.svg"), ">T5:a3<");
  EXPECT_EQ(draw("html", "-o a.html").code, 0);
  EXPECT_TRUE(box.read("a.html").starts_with("<!doctype html>"));
  EXPECT_EQ(box.run("layout mma.m16n8k16.f16 --format html -o no/such/a.html").code, 1);
  // A table that is written can be checked again.
  draw("csv", "-o a.csv");
  EXPECT_EQ(box.run("layout mma.m16n8k16.f16 --operand A --assume a.csv").code, 0);
}

TEST(LayoutCommand, List) {
  const std::string all = run("layout --list").out;
  for (const char* name :
       {"mma.m16n8k16.f16 ", "mma.sp.m16n8k32.f16 ", "mma.m16n8k64.e2m1.block_scale ", "wmma.m16n16k16.bf16 ", "wgmma.m64n128k16.f16 ",
        "ldmatrix.x4.trans ", "movmatrix ", "tcgen05.ld.32x32b.x8 ", "tcgen05.mma.m128n256k16.f16 ", "core.k.128B.f16 "})
    expect_says(all, name);
  const std::string turing = run("layout --list --arch t4").out;
  expect_says(turing, "mma.m16n8k8.f16 ");
  EXPECT_FALSE(has(turing, "mma.m16n8k16.f16 "));  // sm_80
  EXPECT_FALSE(has(run("layout --list --arch b200").out, "wgmma"));
}

TEST(LayoutCommand, BadInput) {
  const auto error = [](const std::string& arguments, int code) {
    const Outcome o = run("layout " + arguments);
    EXPECT_EQ(o.code, code) << arguments << "\n" << o.out << o.err;
    EXPECT_EQ(o.out, "") << arguments;
    return o.err;
  };
  expect_says(error("mma.m16n8k17.f16", 1), "there is no instruction 'mma.m16n8k17.f16', expected a name like 'mma.m16n8k1");
  expect_says(error("mma.m16n8k16.f16 --operand SFA", 1), "has no operand SFA, expected A, B, C, D");
  expect_says(error("mma.m16n8k16.f16 --operand A --element 16,0", 1), "expected rows 0 to 15 and columns 0 to 15");
  expect_says(error("mma.m16n8k16.f16 --operand A --lane 32", 1), "lanes 0 to 31, registers 0 to 3");
  expect_says(error("tcgen05.mma.m128n12k16.f16", 1), "N is 12, expected a multiple of 8");
  error("", 2);
  error("mma.m16n8k16.f16 --format png", 2);
  error("mma.m16n8k16.f16 --element 3", 2);
  error("mma.m16n8k16.f16 --element a,b", 2);
  error("mma.m16n8k16.f16 --operand Q", 2);
  error("mma.m16n8k16.f16 --loaded-by ldmatrix.x4", 2);  // which operand?
  error("mma.m16n8k16.f16 --operand A --row-bytes 64", 2);
  error("mma.m16n8k16.f16 --operand A --assume-row lane", 2);
  error("mma.m16n8k16.f16 --operand A --loaded-by ldmatrix.x4 --stored-by stmatrix.x4", 2);
}

// cubek #599: m16n8k8, every matrix taken from row 0; in the three forms of addresses.
TEST(LayoutCommand, RowsNeverAddressed) {
  const Sandbox box;
  std::string rows, bytes;
  for (int lane = 0; lane < 32; ++lane) rows += fmt::format("{},0\n", lane % 8), bytes += fmt::format("{:#x}  # lane {}\n", lane % 8 * 16, lane);
  box.write("rows.txt", rows);
  box.write("bytes.txt", bytes);
  for (const char* addresses : {"--addresses rows.txt", "--addresses bytes.txt", "--lane-row 'lane % 8'", "--lane-byte 'lane % 8 * 16'"}) {
    const Outcome o = box.run(std::string("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 ") + addresses);
    EXPECT_EQ(o.code, 1);
    expect_says(o.out, "never addressed: rows 8-15");
    expect_says(o.out, "64 of 128 elements");
    expect_says(o.err, "ldmatrix.x2 does not cover A of mma.m16n8k8.f16: never addressed: rows 8-15");
  }
  const Outcome good = box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --lane-row 'lane % 16'");
  EXPECT_EQ(good.code, 0) << good.err;
  expect_says(good.out, "each of the 128 elements loaded exactly once");
  const Json json = Json::parse(box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --addresses rows.txt --format json").out);
  EXPECT_EQ(json.at("covered"), false);
  EXPECT_EQ(json.at("never"), "rows 8-15");
}

TEST(LayoutCommand, AddressFiles) {
  const Sandbox box;
  const auto error = [&](const std::string& content) {
    box.write("a.txt", content);
    const Outcome o = box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --addresses a.txt");
    EXPECT_EQ(o.code, 1);
    EXPECT_EQ(o.out, "");
    return o.err;
  };
  expect_says(error("0,0\n1,x\n"), "a.txt:2:3: error: found 'x', expected one byte offset or row,column");
  expect_says(error("0,0\n0x10\n"), "a.txt:2:1: error: found a byte offset, expected row,column");
  expect_says(error("0,0\n1,0\n"), "2 addresses, expected");
  expect_says(error(""), "a.txt: error: no addresses");
  expect_says(error("-1\n"), "a.txt:1:1: error: found '-1'");
  expect_says(error("1 2 3\n"), "a.txt:1:5");
  EXPECT_EQ(box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --addresses none.txt").code, 1);
  expect_says(box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --lane-row 'lane +'").err,
              "--lane-row 'lane +', column 7: found the end");
  expect_says(box.run("layout mma.m16n8k8.f16 --operand A --loaded-by ldmatrix.x2 --lane-row '4 / lane'").err, "no value for lane 0");
}

// cuda-oxide #474's kind; LeetCUDA #521; a store of the result.
TEST(LayoutCommand, OtherFragmentMistakes) {
  const Outcome order = run("layout mma.m16n8k16.f16 --operand C --assume-row 'lane/4 + 8*(i%2)' --assume-col 'lane%4*2 + i/2'");
  EXPECT_EQ(order.code, 1);
  expect_says(order.out, "64 of 128 places");
  expect_says(order.out, "lane 0, element 1 (register 1): believed C[8][0], it is C[0][1]");
  EXPECT_EQ(run("layout mma.m16n8k16.f16 --operand C --assume-row 'lane/4 + 8*(i/2)' --assume-col 'lane%4*2 + i%2'").code, 0);
  const std::string buffers = "layout mma.m16n8k16.f16 --operand B --order row --loaded-by ldmatrix.x4.trans ";
  EXPECT_EQ(run(buffers + "--tiles 2x1 --lane-row lane").code, 0);
  expect_says(run(buffers + "--tiles 2x1 --lane-row 'lane % 16'").out, "never addressed: rows 16-31");
  expect_says(run(buffers + "--lane-row lane").out, "moved registers 2-3: the fragment has no such register");
  expect_says(run("layout mma.m16n8k16.f16 --operand B --order row --loaded-by ldmatrix.x2").out, "with .trans there are some");
  EXPECT_EQ(run("layout mma.m16n8k16.f16 --operand D --stored-by stmatrix.x2 --lane-row 'lane % 16'").code, 0);
  const Outcome store =
      run("layout wgmma.m64n64k16.f16 --operand D --warp 1 --stored-by stmatrix.x4 --lane-row 'lane % 16' --lane-col 'load * 16 + lane / 16 * 8'");
  EXPECT_EQ(store.code, 0) << store.out << store.err;
  expect_says(
      run("layout mma.m16n8k16.f16 --operand A --loaded-by ldmatrix.x4 --lane-row 'lane % 16' --lane-col 'lane / 16 * 8' --row-bytes 128").out,
      "32 wavefronts, ideal 4, conflicts 28");
  expect_says(run("layout mma.m16n8k16.f16 --operand A --loaded-by ldmatrix.x4 --lane-row 'lane % 16' --lane-col 'lane / 16 * 8' --row-bytes 128 "
                  "--swizzle 128B")
                  .out,
              "4 wavefronts, ideal 4, conflicts 0");
}

}  // namespace
}  // namespace tcsim::tool
