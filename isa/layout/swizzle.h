// Address swizzles of shared memory: CuTe's Swizzle<B, M, S> and the 32/64/128-byte patterns of TMA, wgmma and tcgen05.
//   kSwizzle128B(0x90) -> 0x80: in row 1 of an 8 x 128-byte atom, piece 1 (of 16 bytes) lies in place 0
#pragma once
#include <cstdint>

namespace tcsim::isa {

/// XORs bits [M+S, M+S+B) of an index into bits [M, M+B) (CuTe layout algebra, "Swizzle"). S > 0.
struct Swizzle {
  int bits = 0, base = 0, shift = 0;

  constexpr uint64_t operator()(uint64_t index) const {
    const uint64_t mask = ((uint64_t{1} << bits) - 1) << (base + shift);
    return index ^ ((index & mask) >> shift);
  }
  /// The same pattern given for byte addresses, for an index that counts elements of `bytes` bytes (a power of two), and back.
  constexpr Swizzle for_elements(int bytes) const { return {bits, base - log2(bytes), shift}; }
  constexpr Swizzle for_bytes(int element_bytes) const { return {bits, base + log2(element_bytes), shift}; }
  constexpr bool operator==(const Swizzle&) const = default;

 private:
  static constexpr int log2(int n) { return n <= 1 ? 0 : 1 + log2(n / 2); }
};

// PTX ISA, "Tensor swizzling modes": byte addresses, 16-byte pieces.
inline constexpr Swizzle kSwizzleNone{0, 4, 3};
inline constexpr Swizzle kSwizzle32B{1, 4, 3};
inline constexpr Swizzle kSwizzle64B{2, 4, 3};
inline constexpr Swizzle kSwizzle128B{3, 4, 3};

}  // namespace tcsim::isa
