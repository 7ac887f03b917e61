// Bad inputs through the built program: each has the contract's exit code and one clear message with its
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// C[i] = A[i] + 1 for the threads of one block; line 17 loads, line 19 stores.
const std::string kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(
  .param .u64 .ptr .global .align 4 a,
  .param .u64 .ptr .global .align 4 c
)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [c];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  add.s32 %r3, %r2, 1;
  st.global.u32 [%rd5], %r3;
  ret;
}
)";

const std::string kLaunch = R"(grid = [1, 1, 1]
block = [64, 1, 1]
args = [{ buffer = "A" }, { buffer = "C" }]
[buffer.A]
dtype = "s32"
shape = [64]
init = "iota"
[buffer.C]
dtype = "s32"
shape = [64]
init = "poison"
)";

// A kernel without parameters around a body.
std::string kernel_of(const std::string& body) { return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n" + body + "}\n"; }
const std::string kPlainLaunch = "grid = [1, 1, 1]\nblock = [64, 1, 1]\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class BadInput : public testing::Test {
 protected:
  /// Runs with these files in every mode that is given; expects the code and one error line that matches.
  void expect(const std::string& kernel, const std::string& launch, int code, const testing::Matcher<std::string>& message,
              const std::string& options = "") {
    box_.write("k.ptx", kernel);
    box_.write("l.toml", launch);
    expect_command("run k.ptx --launch l.toml --mode functional " + options, code, message);
  }
  void expect_command(const std::string& command, int code, const testing::Matcher<std::string>& message) {
    const Outcome outcome = box_.run(command);
    EXPECT_EQ(outcome.code, code) << command << "\n" << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, message) << command;
  }
  static size_t errors_in(const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("error: "); at != std::string::npos; at = text.find("error: ", at + 1)) ++count;
    return count;
  }
  Sandbox box_;
};

TEST_F(BadInput, TheGoodCaseIsGood) {
  expect(kKernel, kLaunch, 0, testing::IsEmpty(), "--dump C=c.bin --quiet");
  // iota + 1: the first two elements are 1 and 2.
  EXPECT_EQ(box_.read("c.bin").substr(0, 8), std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(box_.read("c.bin").size(), 256u);
}

// ---- the kernel file ----

TEST_F(BadInput, EmptyKernel) { expect("", kLaunch, 1, HasSubstr("k.ptx:1:1: error: the file is empty, expected PTX")); }
TEST_F(BadInput, BinaryKernel) {
  expect(std::string("\x7f"
                     "ELF\x02\x01\0\0junk\xff\xfe",
                     14),
         kLaunch, 1, HasSubstr("k.ptx: error: a binary file"));
}
TEST_F(BadInput, NoiseKernel) { expect("\xff\xfe\x80 hello <html> }{", kLaunch, 1, HasSubstr("k.ptx:1:1: error: ")); }
TEST_F(BadInput, TruncatedKernel) { expect(kKernel.substr(0, kKernel.find("add.s32 %r3") + 9), kLaunch, 1, HasSubstr("k.ptx:18:")); }
TEST_F(BadInput, UnknownOpcode) {
  expect(replaced(kKernel, "add.s32 %r3, %r2, 1;", "frobnicate.s32 %r3, %r2;"), kLaunch, 1,
         AllOf(HasSubstr("k.ptx:18:3: error: "), HasSubstr("frobnicate")));
}
TEST_F(BadInput, UnknownRegister) { expect(replaced(kKernel, "%r2, 1;", "%r99, 1;"), kLaunch, 1, AllOf(HasSubstr("k.ptx:18:"), HasSubstr("%r99"))); }
TEST_F(BadInput, MissingKernel) {
  box_.write("l.toml", kLaunch);
  expect_command("run nothing.ptx --launch l.toml", 1, HasSubstr("nothing.ptx: error: cannot read the file: No such file or directory"));
}
TEST_F(BadInput, FolderWithoutPtx) {
  box_.write("folder/readme", "x");
  box_.write("l.toml", kLaunch);
  expect_command("run folder --launch l.toml", 1, HasSubstr("folder: error: the folder holds 0 .ptx files, expected exactly one"));
}
TEST_F(BadInput, NoEntry) { expect(".version 8.0\n.target sm_80\n.address_size 64\n", kLaunch, 1, HasSubstr("k.ptx:1:1: error: found no .entry")); }
TEST_F(BadInput, EntryThatIsNotThere) {
  expect(kKernel, "entry = \"add_on\"\n" + kLaunch, 1,
         AllOf(HasSubstr("l.toml:1:9: error: there is no kernel 'add_on'"), HasSubstr("did you mean 'add_one'?")));
}

// ---- the launch file ----

TEST_F(BadInput, BrokenToml) { expect(kKernel, "grid = [1, 1\nblock = [64]\n", 1, HasSubstr("l.toml:2:")); }
TEST_F(BadInput, DuplicateKey) { expect(kKernel, "grid = [1]\n" + kLaunch, 1, HasSubstr("l.toml:2:")); }
TEST_F(BadInput, UnknownKey) {
  expect(kKernel, replaced(kLaunch, "init = \"iota\"", "inti = \"iota\""), 1,
         HasSubstr("l.toml:7:1: error: unknown key 'inti' in [buffer.A] (did you mean 'init'?)"));
}
TEST_F(BadInput, BinaryLaunchFile) { expect(kKernel, std::string("\0\1\2\xff", 4), 1, HasSubstr("l.toml:1:")); }
TEST_F(BadInput, MissingLaunchFile) {
  box_.write("k.ptx", kKernel);
  expect_command("run k.ptx --launch nothing.toml", 1, HasSubstr("nothing.toml: error: cannot read the file"));
}
TEST_F(BadInput, WrongArgumentCount) {
  expect(kKernel, replaced(kLaunch, ", { buffer = \"C\" }", ""), 1,
         HasSubstr("l.toml:3:8: error: 1 arguments given, kernel 'add_one' has 2 parameters"));
}
TEST_F(BadInput, WrongArgumentSize) {
  expect(kKernel, replaced(kLaunch, "{ buffer = \"C\" }", "{ i32 = 3 }"), 1,
         HasSubstr("l.toml:3:27: error: argument 2: s32 has 4 bytes, parameter 'c' (.u64) has 8"));
}
TEST_F(BadInput, MissingBuffer) {
  expect(kKernel, replaced(kLaunch, "[buffer.C]", "[buffer.D]"), 1, HasSubstr("l.toml:3:27: error: there is no [buffer.C]"));
}
TEST_F(BadInput, NegativeSize) {
  expect(kKernel, replaced(kLaunch, "shape = [64]", "shape = [-64]"), 1, HasSubstr("l.toml:6:10: error: 'shape' holds -64, expected 1 to"));
}
TEST_F(BadInput, ImpossibleSize) {
  expect(kKernel, replaced(kLaunch, "shape = [64]", "shape = [1000000, 1000000]"), 1, HasSubstr("the buffers need 4000000 MB, this computer has"));
}
TEST_F(BadInput, HugeGrid) {
  expect(kKernel, replaced(kLaunch, "grid = [1, 1, 1]", "grid = [1, 70000, 1]"), 1,
         HasSubstr("l.toml:1:8: error: grid [1, 70000, 1] > [2147483647, 65535, 65535]"));
}
TEST_F(BadInput, HugeBlock) {
  expect(kKernel, replaced(kLaunch, "[64, 1, 1]", "[2048, 1, 1]"), 1, HasSubstr("l.toml:2:9: error: block [2048, 1, 1] > [1024, 1024, 64]"));
}
TEST_F(BadInput, BlockThatTheKernelForbids) {
  expect(replaced(kKernel, ")\n{", ")\n.reqntid 32, 1, 1\n{"), kLaunch, 1,
         HasSubstr("l.toml:2:9: error: block [64, 1, 1], kernel 'add_one' requires [32, 1, 1] (.reqntid)"));
}
TEST_F(BadInput, TooManyThreads) { expect(kKernel, replaced(kLaunch, "[64, 1, 1]", "[1024, 2, 1]"), 1, HasSubstr("2048 threads per CTA > 1024")); }
TEST_F(BadInput, TooMuchSharedMemory) {
  expect(kernel_of(".shared .align 16 .b8 tile[16];\n.reg .b32 %r<2>;\nld.shared.u32 %r1, [tile];\nret;\n"),
         kPlainLaunch + "dynamic_smem_bytes = 245744\n", 1, AllOf(HasSubstr("l.toml:3:22: error: smem 245760 > 232448 B")));
}
TEST_F(BadInput, BadCheckTolerance) {
  expect(kKernel, kLaunch + "[check]\nequals = { C = \"file:c.bin\" }\nrtol = nan\n", 1,
         HasSubstr("l.toml:14:8: error: 'rtol' is nan, expected a finite number"));
}
TEST_F(BadInput, CheckExtentsThatDisagree) {
  const std::string launch = replaced(kLaunch, "shape = [64]", "shape = [8, 8]") + "[check]\ngemm = { a = \"A\", b = \"A\", c = \"C\" }\n";
  expect(kKernel, launch, 1, HasSubstr("l.toml:13:8: error: D is 1 x 64, A B is 8 x 8"));
}
TEST_F(BadInput, BufferFileOfWrongSize) {
  box_.write("a.bin", "123");
  expect(kKernel, replaced(kLaunch, "\"iota\"", "\"file:a.bin\""), 1, HasSubstr("the file has 3 bytes, the buffer 256"));
}
TEST_F(BadInput, AllProblemsOfBothFilesInOneGo) {
  box_.write("k.ptx", replaced(kKernel, "add.s32 %r3, %r2, 1;", "frobnicate.s32 %r3, %r2;"));
  box_.write("l.toml", replaced(kLaunch, "grid", "gird"));
  const Outcome outcome = box_.run("run k.ptx --launch l.toml --arch h20 --set smem.bonks=3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("frobnicate"), HasSubstr("'gird'"), HasSubstr("h20")));
}

// ---- machine and options ----

TEST_F(BadInput, UnknownMachine) { expect(kKernel, kLaunch, 1, AllOf(HasSubstr("h20"), HasSubstr("h200")), "--arch h20"); }
TEST_F(BadInput, UnknownMachineKey) { expect(kKernel, kLaunch, 1, AllOf(HasSubstr("smem.bonks"), HasSubstr("banks")), "--set smem.bonks=3"); }
TEST_F(BadInput, UsageErrorsAreTwo) {
  box_.write("k.ptx", kKernel);
  box_.write("l.toml", kLaunch);
  for (const char* options :
       {"--mode quick", "--threads 0", "--regs 256", "--no-such-option", "--async late", "--set smem", "--dump C", "--mode timing --dump C=x",
        "--mode functional --ncu-csv x", "--mode functional --timeline x", "--timeline-ctas 0", "--record x", "--warm"})
    EXPECT_EQ(box_.run(std::string("run k.ptx --launch l.toml ") + options).code, 2) << options;
  for (const char* command : {"", "frob", "run", "explain k.ptx", "layout", "replay x", "trace import x", "gemm --style kepler", "arch"})
    EXPECT_EQ(box_.run(command).code, 2) << command;
  EXPECT_THAT(box_.run("replay x").err, HasSubstr("replay: not in this release"));
  EXPECT_EQ(box_.run("--help").code, 0);
  EXPECT_EQ(box_.run("help run").code, 0);
}
TEST_F(BadInput, UnknownWordsNameTheNearest) {
  EXPECT_THAT(box_.run("gem").err, HasSubstr("there is no verb 'gem'; did you mean 'gemm'?"));
  EXPECT_THAT(box_.run("help explian").err, HasSubstr("there is no verb 'explian'; did you mean 'explain'?"));
  const Outcome missing = box_.run("explain nope.ptx");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("nope.ptx: error: cannot read the file"));
  const Outcome option = box_.run("gemm --stage 3");
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.err, HasSubstr("gemm has no option --stage; did you mean '--stages'?"));
}
TEST_F(BadInput, DumpOfAnUnknownBuffer) { expect(kKernel, kLaunch, 1, HasSubstr("--dump: error: there is no buffer 'X'"), "--dump X=x.bin"); }
TEST_F(BadInput, UnwritableOutputIsFoundBeforeTheRun) {
  expect(kKernel, kLaunch, 1, HasSubstr("no/such/folder/r.json: error: cannot write the file"), "--json no/such/folder/r.json");
  EXPECT_EQ(box_.file_count(), 2u);  // nothing half written
}

// ---- the run ----

TEST_F(BadInput, OutOfBounds) {
  expect(kKernel, replaced(kLaunch, "shape = [64]", "shape = [63]"), 3, AllOf(HasSubstr("k.ptx:17:3: error: "), HasSubstr("A")));
}
TEST_F(BadInput, NullPointer) { expect(kKernel, replaced(kLaunch, "{ buffer = \"A\" }", "{ null = true }"), 3, HasSubstr("k.ptx:17:3: error: ")); }
TEST_F(BadInput, MisalignedLdmatrix) {
  expect(kernel_of(".shared .align 16 .b8 tile[1024];\n.reg .b32 %r<8>;\nmov.u32 %r1, tile;\nadd.s32 %r2, %r1, 8;\n"
                   "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];\nret;\n"),
         kPlainLaunch, 3, AllOf(HasSubstr("k.ptx:10:1: error: "), HasSubstr("16")));
}
TEST_F(BadInput, MisalignedLoad) {
  expect(kKernel, replaced(kLaunch, "{ buffer = \"A\" }", "{ buffer = \"A\", offset_bytes = 2 }"), 3, HasSubstr("k.ptx:17:3: error: "));
}
TEST_F(BadInput, BarrierDeadlock) {
  // Half of the threads wait at barrier 1 for all 64.
  expect(kernel_of(".reg .b32 %r<2>;\n.reg .pred %p<2>;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, "
                   "32;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 2, 64;\nret;\n"),
         kPlainLaunch, 3, AllOf(HasSubstr("k.ptx:1"), HasSubstr("error: "), HasSubstr("deadlock")));
}
TEST_F(BadInput, Trap) { expect(kernel_of("trap;\n"), kPlainLaunch, 3, HasSubstr("k.ptx:6:1: error: ")); }
TEST_F(BadInput, UninitialisedReadWarnsAndStrictFails) {
  const std::string kernel = replaced(kKernel, "ld.global.u32 %r2, [%rd4];", "ld.global.u32 %r2, [%rd5];");
  expect(kernel, kLaunch, 0, AllOf(HasSubstr("warning: ")));
  expect(kernel, kLaunch, 3, AllOf(HasSubstr("k.ptx:17:3: warning: ")), "--strict");
}

// ---- the check ----

TEST_F(BadInput, WrongResult) {
  box_.write("want.bin", std::string(256, '\0'));
  expect(kKernel, kLaunch + "[check]\nequals = { C = \"file:want.bin\" }\n", 4, HasSubstr("l.toml:13:12: error: buffer 'C' differs from 'want.bin'"));
}

// ---- everything that is one problem is one line ----

TEST_F(BadInput, OneMessageForOneProblem) {
  for (const auto& [kernel, launch] : {std::pair{std::string(), kLaunch},
                                       {replaced(kKernel, "add.s32 %r3, %r2, 1;", "frobnicate.s32 %r3, %r2;"), kLaunch},
                                       {kKernel, replaced(kLaunch, ", { buffer = \"C\" }", "")},
                                       {kKernel, replaced(kLaunch, "shape = [64]", "shape = [63]")}}) {
    box_.write("k.ptx", kernel);
    box_.write("l.toml", launch);
    const Outcome outcome = box_.run("run k.ptx --launch l.toml --mode functional");
    EXPECT_EQ(errors_in(outcome.err), 1u) << outcome.err;
  }
}

}  // namespace
}  // namespace tcsim::tool
