#include "tools/launch/npy.h"

#include <gtest/gtest.h>

namespace tcsim::launch {
namespace {

// The header that NumPy 1.x writes for np.zeros((3, 2), np.float16): 128 bytes in all.
const std::string kDictionary = "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 2), }";

TEST(Npy, HeaderIsNumPys) {
  const std::string header = npy_header(isa::Type::f16, {3, 2});
  ASSERT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(header.substr(8, 2), std::string("\x76\x00", 2));  // 118 = 128 - 10
  EXPECT_EQ(header.substr(10, kDictionary.size()), kDictionary);
  EXPECT_EQ(header.back(), '\n');
}

TEST(Npy, ReadsWhatNumPyWrites) {
  std::string text = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + kDictionary;
  text.resize(127, ' ');
  text += "\n";
  text += std::string("\x00\x3c\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00", 12);
  std::string error;
  const auto array = parse_npy({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, error);
  ASSERT_TRUE(array) << error;
  EXPECT_EQ(array->descr, "<f2");
  EXPECT_EQ(array->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(array->data.size(), 12u);
  EXPECT_EQ(array->data[1], 0x3c);
}

TEST(Npy, BrokenFilesSayWhy) {
  const auto reason = [](std::string text) {
    std::string error;
    EXPECT_FALSE(parse_npy({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, error));
    return error;
  };
  EXPECT_EQ(reason("hello"), "not a .npy file");
  EXPECT_EQ(reason(std::string("\x93NUMPY\x01\x00\x76\x00{'d", 13)), "its header is cut off");
  std::string fortran = npy_header(isa::Type::f32, {2});
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_EQ(reason(fortran), "it is in Fortran order, expected C order");
}

}  // namespace
}  // namespace tcsim::launch
