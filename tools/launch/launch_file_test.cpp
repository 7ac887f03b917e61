#include "tools/launch/launch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tcsim::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGood = R"(entry = "k"
grid = [4, 2]
block = [128, 1, 1]
dynamic_smem_bytes = 1024
args = [{ buffer = "A", offset_bytes = 8 }, { i32 = -2 }, { f16 = 1.0 }, { null = true }, { bytes = "0102 ff", patch = [ { offset = 0, buffer = "A" } ] }]
[buffer.A]
dtype = "f16"
shape = [3, 5]
strides = [8, 1]
init = "normal"
seed = 7
)";

std::vector<std::string> errors_of(const std::string& text) {
  Diagnostics diags;
  parse_launch_file("l.toml", text, diags);
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : diags.all()) out.push_back(diagnostic.str());
  return out;
}

TEST(LaunchFile, EverythingOfTheContractIsRead) {
  Diagnostics diags;
  const auto file = parse_launch_file("l.toml", kGood, diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  const LaunchSpec& launch = file->launches.at(0);
  EXPECT_EQ(launch.entry, "k");
  EXPECT_EQ(launch.grid.x, 4u);
  EXPECT_EQ(launch.grid.y, 2u);
  EXPECT_EQ(launch.grid.z, 1u);
  EXPECT_EQ(launch.dynamic_smem_bytes, 1024u);
  ASSERT_EQ(launch.args.size(), 5u);
  EXPECT_EQ(launch.args[0].offset_bytes, 8);
  EXPECT_THAT(launch.args[1].bytes, ElementsAre(0xfe, 0xff, 0xff, 0xff));
  EXPECT_THAT(launch.args[2].bytes, ElementsAre(0x00, 0x3c));
  EXPECT_THAT(launch.args[3].bytes, testing::SizeIs(8));
  EXPECT_THAT(launch.args[4].bytes, ElementsAre(1, 2, 255));
  EXPECT_EQ(launch.args[4].patches.at(0).buffer, "A");
  EXPECT_EQ(file->buffers.at(0).bytes(), 42u); // (2 * 8 + 4 + 1) elements of 2 bytes
  EXPECT_EQ(file->buffers[0].seed, 7u);
}

TEST(LaunchFile, SequencesOfLaunches) {
  Diagnostics diags;
  const auto file = parse_launch_file(
      "l.toml", "[[launch]]\nentry=\"a\"\ngrid=[1]\n[[launch]]\nentry=\"b\"\ngrid=[2]\n", diags);
  ASSERT_FALSE(diags.has_errors());
  ASSERT_EQ(file->launches.size(), 2u);
  EXPECT_EQ(file->launches[1].entry, "b");
}

TEST(LaunchFile, ArgsAsTables) {
  Diagnostics diags;
  const auto file =
      parse_launch_file("l.toml",
                        "grid=[1]\n[[args]]\nbytes=\"0000000000000000\"\n[[args.patch]]\noffset=0\nbuffer="
                        "\"A\"\n[[args]]\nu8=255\n[buffer.A]\ndtype=\"b1\"\nshape=[9]\n",
                        diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  EXPECT_EQ(file->launches[0].args.at(0).patches.size(), 1u);
  EXPECT_EQ(file->buffers[0].bytes(), 2u);
}

TEST(LaunchFile, BrokenTomlHasItsPlace) {
  EXPECT_THAT(errors_of("grid = [1,\nblock = 3"), ElementsAre(HasSubstr("l.toml:2:")));
}

TEST(LaunchFile, BytesThatTomlDoesNotAllow) {
  EXPECT_THAT(errors_of("grid = [1]\n[@x]\n"), ElementsAre(HasSubstr("l.toml:2:2: error: ")));
  EXPECT_THAT(errors_of("grid = [1]\n[\x05x]\n"), ElementsAre(HasSubstr("l.toml:2:2: error: found a character outside printable ASCII")));
  EXPECT_THAT(errors_of("grid = 2\"\xef\xbb\xbb\n"), ElementsAre(HasSubstr("l.toml:1:10: error: found a character")));
  EXPECT_THAT(errors_of("grid = [1]\nentry = \"\xc3\xb6\"\n"), testing::IsEmpty());
  EXPECT_THAT(errors_of("# gr\xc3\xb6\xc3\x9f\x65r\ngrid = [1]\n"), testing::IsEmpty());
}

TEST(LaunchFile, UnknownKeysGetASuggestion) {
  EXPECT_THAT(errors_of("grid = [1]\nblok = [32]\n"),
              ElementsAre(testing::AllOf(HasSubstr("l.toml:2:1: error: unknown key 'blok'"),
                                         HasSubstr("did you mean 'block'?"))));
}

TEST(LaunchFile, AllErrorsInOneGo) {
  const auto errors = errors_of("grid = [0]\nblock = \"x\"\nargs = [{ bufer = \"A\" }]\n[buffer.A]\ndtype = "
                                "\"f61\"\nshape = [-1]\n[check]\nrtol = nan\n");
  EXPECT_THAT(errors,
              testing::UnorderedElementsAre(
                  HasSubstr("1:9: error: 'grid' holds 0"), HasSubstr("2:9: error: 'block' is a string"),
                  HasSubstr("3:9: error: an argument gives 0 values"),
                  HasSubstr("unknown key 'bufer' in argument (did you mean 'buffer'?)"),
                  HasSubstr("'dtype' is 'f61', expected one of f16 bf16"), HasSubstr("'shape' holds -1"),
                  HasSubstr("'rtol' is nan"), HasSubstr("[check] needs 'gemm' or 'equals'")));
}

TEST(LaunchFile, ReferencesMustExist) {
  EXPECT_THAT(
      errors_of("grid=[1]\nargs=[{buffer=\"B\"},{tensormap=\"m\"}]\n[buffer.A]\ndtype=\"f16\"\nshape=[1]\n"),
      ElementsAre(HasSubstr("2:7: error: there is no [buffer.B] (did you mean 'A'?)"),
                  HasSubstr("there is no [tensormap.m]")));
}

TEST(LaunchFile, ValuesOutOfRange) {
  EXPECT_THAT(errors_of("grid=[1]\nargs=[{u8=256}]\n"),
              ElementsAre(HasSubstr("'u8' is 256, expected 0 to 255")));
  EXPECT_THAT(errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[1000000000000,1000000000000]\n"),
              ElementsAre(HasSubstr("more than can be held")));
  EXPECT_THAT(errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[4]\nalign_bytes=3\n"),
              ElementsAre(HasSubstr("expected a power of two")));
}

TEST(LaunchFile, TensorMapRanks) {
  EXPECT_THAT(
      errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[8,8]\n[tensormap.m]\nbuffer=\"A\"\nbox=[8]\n"),
      ElementsAre(HasSubstr("tensormap 'm': 'box' has 1 numbers for rank 2")));
}

} // namespace
} // namespace tcsim::launch
