// Descriptors of tcgen05.mma: values that Triton emits, fields by hand, what is rejected, and the manual's examples of masks.
#include "isa/layout/tcgen05_descriptor.h"

#include <gtest/gtest.h>

#include <set>

namespace tcsim::isa {
namespace {

TEST(Tcgen05Descriptor, Triton) {
  // Triton 3.x, 128x256x64 f16 on sm_100: A K-major, B N-major in four panels of 64 k x 128 bytes; the start address is added.
  const MatrixDescriptor a = decode_tcgen05_descriptor(0x4000404000000000), b = decode_tcgen05_descriptor(0x4000404002000000 | 0x1234);
  EXPECT_EQ(a, (MatrixDescriptor{0, 0, 1024, 0, 128, 16}));
  EXPECT_EQ(b, (MatrixDescriptor{0x12340, 8192, 1024, 0, 128, 16}));
  EXPECT_EQ(encode_tcgen05_descriptor(a), 0x4000404000000000u);
  EXPECT_EQ(check_tcgen05_descriptor(0x4000404000000000, Major::k, 32).kind, nullptr);
}

TEST(Tcgen05Descriptor, Fields) {
  for (const MatrixDescriptor d : {MatrixDescriptor{0x3fff0, 0x20, 0x3ff0, 5, 32, 16}, MatrixDescriptor{16, 32, 64, 0, 0, 16},
                                   MatrixDescriptor{0, 0, 512, 1, 64, 16}, MatrixDescriptor{0, 4096, 512, 0, 128, 32}})
    EXPECT_EQ(decode_tcgen05_descriptor(encode_tcgen05_descriptor(d)), d);
  EXPECT_EQ(encode_tcgen05_descriptor({0, 0, 0, 0, 128, 32}) >> 61, 1u);
  EXPECT_EQ(encode_tcgen05_descriptor({0, 0, 0, 0, 64, 16}) >> 61, 4u);
  EXPECT_EQ(encode_tcgen05_descriptor({0, 0, 0, 0, 32, 16}) >> 61, 6u);
}

TEST(Tcgen05Descriptor, Rejected) {
  const auto text = [](uint64_t bits, Major major = Major::k) { return check_tcgen05_descriptor(bits, major, 32).text; };
  EXPECT_EQ(text(0x4000004000000000), "bits 46-48 are 0, expected the constant 1 (is it a wgmma descriptor? sm_100 has another format)");
  EXPECT_EQ(text(0x6000404000000000),
            "swizzle mode (bits 61-63) is 3, expected 0 (none), 1 (128 bytes in units of 32), 2 (128 bytes), 4 (64 bytes) or 6 (32 bytes)");
  EXPECT_EQ(text(0x4010404000000000), "the leading dimension is an address (bit 52), which only sm_103 has");
  EXPECT_EQ(text(0x4020404000000000), "bits 53-60 are 0x1, expected 0");
  EXPECT_EQ(text(0x2000404000000000), "swizzle mode (bits 61-63) is 1 (128 bytes in units of 32), which exists for transposed matrices of tf32 only");
  EXPECT_EQ(text(0x2000404000000000, Major::mn), "");
  EXPECT_STREQ(check_tcgen05_descriptor(0x4000404000000008, Major::k, 32).kind, "misaligned") << "128 bytes past the start of a pattern";
}

// PTX ISA, "Canonical Layouts": 128B swizzling with 32B atomicity: Swizzle<2,5,2> on ((T,8,m),(4,k)):((1,T,LBO),(8T,SBO)).
TEST(Tcgen05Descriptor, AtomsOf32Bytes) {
  const MatrixAddress at({0x400, 4096, 512, 0, 128, 32}, Major::mn);
  EXPECT_EQ(at.piece(0, 0), 0x400u);
  EXPECT_EQ(at.piece(1, 0), 0x400u + 128 + 32) << "row 1: unit 0 of 32 bytes goes to place 0 ^ 1";
  EXPECT_EQ(at.piece(3, 5), 0x400u + 3 * 128 + 16 + 32) << "piece 5 is the upper half of unit 2, in place 2 ^ 3 = 1";
  EXPECT_EQ(at.piece(4, 0), 0x400u + 512) << "the pattern has 4 rows";
  EXPECT_EQ(at.piece(2, 8), 0x400u + 4096 + 256 + 64);
  std::set<uint32_t> places;
  for (uint32_t line = 0; line < 8; ++line)
    for (uint32_t p = 0; p < 16; ++p) places.insert(at.piece(line, p));
  EXPECT_EQ(places.size(), 128u);
  EXPECT_LE(*places.rbegin() + 16, at.end_bound(8, 16));
}

TEST(InstructionDescriptor, Triton) {
  // 138477584: m128n256k16, f32 = f16 * f16, B transposed (ptr_128x256x64).
  const InstructionDescriptor d = decode_instruction_descriptor(MmaKind::f16, 138477584);
  EXPECT_EQ(d, (InstructionDescriptor{.d = Type::f32, .a = Type::f16, .b = Type::f16, .b_major = Major::mn, .m = 128, .n = 256}));
  EXPECT_EQ(describe(MmaKind::f16, d), "m128n256k16, f32 = f16 * f16, B transposed");
  EXPECT_EQ(encode_instruction_descriptor(MmaKind::f16, d), 138477584u);
  EXPECT_EQ(check_instruction_descriptor({.kind = MmaKind::f16}, 138477584), "");
}

TEST(InstructionDescriptor, RoundTrip) {
  const InstructionDescriptor plain{
      .sparse = true, .saturate = true, .selector = 3, .d = Type::s32, .a = Type::u8, .b = Type::s8, .m = 64, .n = 48, .max_shift = 16};
  EXPECT_EQ(decode_instruction_descriptor(MmaKind::i8, encode_instruction_descriptor(MmaKind::i8, plain)), plain);
  // By hand: selector 3, sparse 4, saturate 8, D 2 << 4, A 0, B 1 << 10, N 6 << 17, M 4 << 24, shift 2 << 30.
  EXPECT_EQ(encode_instruction_descriptor(MmaKind::i8, plain), 0x3u | 4 | 8 | 0x20 | 0x400 | 6u << 17 | 4u << 24 | 2u << 30);
  const InstructionDescriptor scaled{
      .negate_a = true, .d = Type::f32, .a = Type::e2m3, .b = Type::e2m1, .m = 256, .n = 16, .scale = Type::ue8m0, .scale_a_id = 3, .scale_b_id = 1};
  EXPECT_EQ(decode_instruction_descriptor(MmaKind::mxf8f6f4, encode_instruction_descriptor(MmaKind::mxf8f6f4, scaled)), scaled);
  // B's ID 1 << 4, A 3 << 7, B 5 << 10, negate A 1 << 13, N 2 << 17, ue8m0 1 << 23, M 2 << 27, A's ID 3 << 29.
  EXPECT_EQ(encode_instruction_descriptor(MmaKind::mxf8f6f4, scaled),
            0x10u | 3u << 7 | 5u << 10 | 1u << 13 | 2u << 17 | 1u << 23 | 2u << 27 | 3u << 29);
}

TEST(InstructionDescriptor, Rejected) {
  const uint32_t good = 138477584;
  const auto f16 = [](uint32_t bits, MmaForm form = {}) { return check_instruction_descriptor(form, bits); };
  EXPECT_EQ(f16(good | 0x40), "reserved bit 6 of kind::f16 is 1, expected 0");
  EXPECT_EQ(f16((good & ~0x30u) | 0x20), "type of D (bits 4-5) is 2, expected 0 (f16) or 1 (f32)");
  EXPECT_EQ(f16(good | 2 << 7), "type of A (bits 7-9) is 2, expected 0 (f16), 1 (bf16)");
  EXPECT_EQ(f16((good & ~0x30u) | 0x480), "type of D (bits 4-5) is 0, expected 1 (f32) with .bf16 operands");
  EXPECT_EQ(f16(good | 4), "sparsity (bit 2) is 1, expected 0: the instruction has no .sp");
  EXPECT_EQ(f16(good | 8), "saturation (bit 3) is 1, expected 0: kind::f16 has none");
  EXPECT_EQ(f16(good ^ 24u << 24), "M (bits 24-28) is 256, expected 64 or 128 for kind::f16 with cta_group::1");
  EXPECT_EQ(f16(good & ~(63u << 17)), "N (bits 17-22) is 0, expected a multiple of 8 up to 256 for kind::f16 with cta_group::1");
  EXPECT_EQ(f16((good & ~(63u << 17)) | 3u << 17, {.cta_group = 2}),
            "N (bits 17-22) is 24, expected a multiple of 16 up to 256 for kind::f16 with cta_group::2");
  EXPECT_EQ(f16((good & ~(63u << 17)) | 4u << 17, {.weight_stationary = true}), "N (bits 17-22) is 32, expected 64, 128 or 256 with .ws");
  EXPECT_EQ(f16(good | 1u << 15, {.a_in_tensor_memory = true}), "transpose of A (bit 15) is 1, expected 0: A is in Tensor Memory");
  EXPECT_EQ(f16(good | 1u << 30), "maximum shift of B (bits 30-31) is 1, expected 0 without .ws");
  // i8 with N = 40: steps of 16 above 32.
  const InstructionDescriptor i8{.d = Type::s32, .a = Type::s8, .b = Type::s8, .m = 128, .n = 40};
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::i8, i8), {.kind = MmaKind::i8}),
            "N (bits 17-22) is 40, expected a multiple of 16 up to 256 for kind::i8 with cta_group::1");
  // ue4m3 goes with four scale factors only, and those have ID 0.
  InstructionDescriptor nv{.d = Type::f32, .a = Type::e2m1, .b = Type::e2m1, .m = 128, .n = 128, .scale = Type::ue4m3};
  const MmaForm four{.kind = MmaKind::mxf4nvf4, .scale_vec = 4}, two{.kind = MmaKind::mxf4nvf4, .scale_vec = 2};
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::mxf4nvf4, nv), four), "");
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::mxf4nvf4, nv), two),
            "type of the scales (bit 23) is 0, expected 1 (ue8m0): ue4m3 exists with .scale_vec::4X or .block16 only");
  nv.scale_b_id = 2;
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::mxf4nvf4, nv), four),
            "scale factor ID of B (bits 4-5) is 2, expected 0 with four scale factors a row");
  nv = {.d = Type::f32, .a = Type::e2m1, .b = Type::e2m1, .m = 128, .n = 128, .scale = Type::ue8m0, .k96 = true};
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::mxf4, nv), {.kind = MmaKind::mxf4, .scale_vec = 2}),
            "K (bit 31) is 1 (K = 96), which only sm_103 has, expected 0");
  // Sub-byte elements cannot be transposed.
  const InstructionDescriptor f6{.d = Type::f32, .a = Type::e3m2, .b = Type::e4m3, .a_major = Major::mn, .m = 128, .n = 128};
  EXPECT_EQ(f16(encode_instruction_descriptor(MmaKind::f8f6f4, f6), {.kind = MmaKind::f8f6f4}),
            "transpose of A (bit 15) is 1, expected 0 for elements of .e3m2");
}

std::string mask_text(uint64_t descriptor, int m, int n, int first, int count) {
  const auto mask = zero_columns(descriptor, m, n);
  std::string text;
  for (int i = first + count - 1; i >= first; --i) text += mask[static_cast<size_t>(i)] ? '1' : '0';
  return text;
}

// PTX ISA, "Zero-Column Mask Descriptor", examples 1 to 4.
TEST(ZeroColumns, Examples) {
  const uint64_t spans = uint64_t{2} << 40 | uint64_t{3} << 48, on = uint64_t{1} << 39;
  EXPECT_TRUE(zero_columns(uint64_t{4} << 40 | uint64_t{3} << 48, 128, 256).none());
  EXPECT_EQ(mask_text(spans | on, 128, 64, 0, 14), "11100001110000");
  const uint64_t third = spans | on | uint64_t{1} << 32;  // fs0
  EXPECT_EQ(mask_text(third, 64, 64, 0, 17), "11100001110000111");
  EXPECT_EQ(mask_text(third, 64, 64, 32, 18), "000011100001110000");
  const uint64_t fourth = spans | on | uint64_t{3} << 32 | uint64_t{2} << 56 | 1 << 24 | 2 << 16 | 1 << 8;
  EXPECT_EQ(mask_text(fourth, 32, 128, 0, 14), "00001110000111");
  EXPECT_EQ(mask_text(fourth, 32, 128, 32, 13), "0000111000011");
  EXPECT_EQ(mask_text(fourth, 32, 128, 64, 12), "111000011100");
  EXPECT_EQ(mask_text(fourth, 32, 128, 96, 13), "1110000111000");
  EXPECT_EQ(column_shift(fourth), 2);
}

}  // namespace
}  // namespace tcsim::isa
