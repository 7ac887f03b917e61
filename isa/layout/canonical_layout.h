// The canonical layouts of matrices in shared memory that wgmma and tcgen05.mma read: core matrices of 8 lines x 16 bytes, in rows of
// the swizzle pattern, K-major (lines are rows, 16 bytes run along K) or MN-major (lines are k, 16 bytes run along M or N).
//
//   canonical_descriptor({Major::k, 128}, 64, 16, 16)   -> start 0, stride 1024 B, 128-byte swizzle; MatrixAddress gives the addresses
//   cute_layout({Major::k, 128}, 16)                    -> "Swizzle<3,4,3> o smem_ptr o ((8,m),(8,2)):((64,SBO),(1,8))"
//
// Source: CUTLASS, cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp ("Canonical layouts", make_gmma_desc, make_umma_desc).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/layout/matrix_descriptor.h"

namespace tcsim::isa {

struct CanonicalLayout {
  Major major = Major::k;
  uint8_t swizzle_bytes = 128;  // 0, 32, 64, 128
  uint8_t atom_bytes = 16;      // 32: 128B_atom_32B, MN-major only
  constexpr bool operator==(const CanonicalLayout&) const = default;
};

/// "none", "32B", "64B", "128B", "128B_atom_32B".
std::optional<CanonicalLayout> canonical_layout(Major major, std::string_view swizzle);
std::string swizzle_name(const CanonicalLayout& layout);

/// A matrix of mn x k elements that starts at address 0 and has no gaps: what one instruction reads, or a tile whose rows (K-major) are
/// as long as the swizzle pattern or shorter. Swizzled rows keep the pattern's length even if the matrix is narrower.
MatrixDescriptor canonical_descriptor(const CanonicalLayout& layout, int mn, int k, int element_bits);

/// Elements along K (K-major) or along M or N (MN-major) in one row of the pattern; without swizzle in one core matrix.
int atom_elements(const CanonicalLayout& layout, int element_bits);

/// In CuTe's notation, in elements (T of them are 16 bytes): the swizzle acts on byte addresses.
std::string cute_layout(const CanonicalLayout& layout, int element_bits);

}  // namespace tcsim::isa
