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
  EXPECT_EQ(file->buffers.at(0).bytes(), 42u);  // (2 * 8 + 4 + 1) elements of 2 bytes
  EXPECT_EQ(file->buffers[0].seed, 7u);
}

TEST(LaunchFile, SequencesOfLaunches) {
  Diagnostics diags;
  const auto file = parse_launch_file("l.toml", "[[launch]]\nentry=\"a\"\ngrid=[1]\n[[launch]]\nentry=\"b\"\ngrid=[2]\n", diags);
  ASSERT_FALSE(diags.has_errors());
  ASSERT_EQ(file->launches.size(), 2u);
  EXPECT_EQ(file->launches[1].entry, "b");
}

TEST(LaunchFile, ArgsAsTables) {
  Diagnostics diags;
  const auto file = parse_launch_file("l.toml",
                                      "grid=[1]\n[[args]]\nbytes=\"0000000000000000\"\n[[args.patch]]\noffset=0\nbuffer="
                                      "\"A\"\n[[args]]\nu8=255\n[buffer.A]\ndtype=\"b1\"\nshape=[9]\n",
                                      diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  EXPECT_EQ(file->launches[0].args.at(0).patches.size(), 1u);
  EXPECT_EQ(file->buffers[0].bytes(), 2u);
}

TEST(LaunchFile, BrokenTomlHasItsPlace) { EXPECT_THAT(errors_of("grid = [1,\nblock = 3"), ElementsAre(HasSubstr("l.toml:2:"))); }

TEST(LaunchFile, BytesThatTomlDoesNotAllow) {
  EXPECT_THAT(errors_of("grid = [1]\n[@x]\n"), ElementsAre(HasSubstr("l.toml:2:2: error: ")));
  EXPECT_THAT(errors_of("grid = [1]\n[\x05x]\n"), ElementsAre(HasSubstr("l.toml:2:2: error: found a character outside printable ASCII")));
  EXPECT_THAT(errors_of("grid = 2\"\xef\xbb\xbb\n"), ElementsAre(HasSubstr("l.toml:1:10: error: found a character")));
  EXPECT_THAT(errors_of("grid = [1]\nentry = \"\xc3\xb6\"\n"), testing::IsEmpty());
  EXPECT_THAT(errors_of("# gr\xc3\xb6\xc3\x9f\x65r\ngrid = [1]\n"), testing::IsEmpty());
}

TEST(LaunchFile, UnknownKeysGetASuggestion) {
  EXPECT_THAT(errors_of("grid = [1]\nblok = [32]\n"),
              ElementsAre(testing::AllOf(HasSubstr("l.toml:2:1: error: unknown key 'blok'"), HasSubstr("did you mean 'block'?"))));
}

TEST(LaunchFile, AllErrorsInOneGo) {
  const auto errors = errors_of(
      "grid = [0]\nblock = \"x\"\nargs = [{ bufer = \"A\" }]\n[buffer.A]\ndtype = "
      "\"f61\"\nshape = [-1]\n[check]\nrtol = nan\n");
  EXPECT_THAT(errors, testing::UnorderedElementsAre(HasSubstr("1:9: error: 'grid' holds 0"), HasSubstr("2:9: error: 'block' is a string"),
                                                    HasSubstr("3:9: error: an argument gives 0 values"),
                                                    HasSubstr("unknown key 'bufer' in argument (did you mean 'buffer'?)"),
                                                    HasSubstr("'dtype' is 'f61', expected one of f16 bf16"), HasSubstr("'shape' holds -1"),
                                                    HasSubstr("'rtol' is nan"), HasSubstr("[check] needs 'gemm' or 'equals'")));
}

TEST(LaunchFile, ReferencesMustExist) {
  EXPECT_THAT(errors_of("grid=[1]\nargs=[{buffer=\"B\"},{tensormap=\"m\"}]\n[buffer.A]\ndtype=\"f16\"\nshape=[1]\n"),
              ElementsAre(HasSubstr("2:7: error: there is no [buffer.B] (did you mean 'A'?)"), HasSubstr("there is no [tensormap.m]")));
}

TEST(LaunchFile, ValuesOutOfRange) {
  EXPECT_THAT(errors_of("grid=[1]\nargs=[{u8=256}]\n"), ElementsAre(HasSubstr("'u8' is 256, expected 0 to 255")));
  EXPECT_THAT(errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[1000000000000,1000000000000]\n"),
              ElementsAre(HasSubstr("more than can be held")));
  EXPECT_THAT(errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[4]\nalign_bytes=3\n"), ElementsAre(HasSubstr("expected a power of two")));
}

std::string with_map(const std::string& map, const std::string& shape = "[1024, 1024]") {
  return "grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=" + shape + "\n[tensormap.m]\nbuffer=\"A\"\n" + map;
}

TEST(LaunchFile, TensorMapDefaultsComeFromTheBuffer) {
  Diagnostics diags;
  const auto file = parse_launch_file("l.toml", with_map("box=[64,128]\nswizzle=\"128B\"\noob=\"nan\"\nl2_promotion=\"128B\"\n"), diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  const isa::TensorMap& map = file->tensormaps.at(0).map;
  EXPECT_EQ(map.rank, 2);
  EXPECT_EQ(map.type, isa::TensorMap::Type::f16);
  EXPECT_THAT(map.dims, ElementsAre(1024u, 1024u, 1u, 1u, 1u));
  EXPECT_EQ(map.strides[0], 2048u);
  EXPECT_THAT(map.box, ElementsAre(64u, 128u, 1u, 1u, 1u));
  EXPECT_EQ(map.swizzle, isa::TensorMap::Swizzling::b128);
  EXPECT_EQ(map.fill, isa::TensorMap::Fill::nan);
  EXPECT_EQ(map.promotion, isa::TensorMap::Promotion::b128);
}

TEST(LaunchFile, TensorMapIm2col) {
  Diagnostics diags;
  const auto file = parse_launch_file(
      "l.toml",
      with_map("mode=\"im2col\"\npixel_box_lower=[-1,-1]\npixel_box_upper=[-1,-1]\nchannels_per_pixel=8\npixels_per_column=64\n", "[2,14,9,64]"),
      diags);
  ASSERT_FALSE(diags.has_errors()) << diags.all()[0].str();
  const isa::TensorMap& map = file->tensormaps.at(0).map;
  EXPECT_THAT(map.dims, ElementsAre(64u, 9u, 14u, 2u, 1u));
  EXPECT_THAT(map.strides, ElementsAre(128u, 1152u, 16128u, 0u));  // 64 x 2 B; x 9; x 14
  EXPECT_THAT(map.lower, ElementsAre(-1, -1, 0));
  EXPECT_EQ(map.channels, 8u);
  EXPECT_EQ(map.pixels, 64u);
}

// Boxes of public bug reports: 128 channels of 2 B in a 128-byte span, 48 in one of 32 bytes.
TEST(LaunchFile, TensorMapProblemsHaveTheirNumbers) {
  EXPECT_THAT(errors_of(with_map("box=[128,64]\nswizzle=\"128B\"\n")),
              ElementsAre(HasSubstr("l.toml:5:12: error: tensormap 'm': box inner 128 x 2 B = 256 B exceeds the 128 B span of swizzle 128B")));
  EXPECT_THAT(errors_of(with_map("box=[48,64]\nswizzle=\"32B\"\n")),
              ElementsAre(HasSubstr("box inner 48 x 2 B = 96 B exceeds the 32 B span of swizzle 32B")));
}

TEST(LaunchFile, TensorMapProblemsAllInOneGo) {
  EXPECT_THAT(errors_of(with_map("offset_bytes=8\nstrides_bytes=[2056]\nbox=[4,300]\nelement_strides=[1,9]\n")),
              testing::UnorderedElementsAre(
                  HasSubstr("global address 0x8 is not a multiple of 16 B"), HasSubstr("stride 2056 B of dimension 1 is not a multiple of 16 B"),
                  HasSubstr("box 300 of dimension 1, expected 1 to 256"), HasSubstr("element stride 9 of dimension 1, expected 1 to 8"),
                  HasSubstr("box inner 4 x 2 B = 8 B is not a multiple of 16 B")));
}

TEST(LaunchFile, TensorMapBeyondItsBuffer) {
  EXPECT_THAT(errors_of(with_map("box=[64,64]\noffset_bytes=32\n")),  // 32 + 1024 x 1024 x 2
              ElementsAre(HasSubstr("the tensor ends at byte 2097184 of buffer 'A', which has 2097152")));
}

TEST(LaunchFile, TensorMapRanks) {
  EXPECT_THAT(errors_of("grid=[1]\n[buffer.A]\ndtype=\"f16\"\nshape=[8,8]\n[tensormap.m]\nbuffer=\"A\"\nbox=[8]\n"),
              ElementsAre(HasSubstr("'box' has 1 numbers, expected 2")));
}

}  // namespace
}  // namespace tcsim::launch
