// Names shared by everything about matrix instructions: tensor-core generations, shapes and operand roles.
#pragma once
#include <cstdint>

namespace tcsim::isa {

/// Tensor-core generation; decides result bits. ampere covers sm_80 to sm_87, ada is sm_89, blackwell is sm_100, rtx_blackwell sm_120.
enum class Generation : uint8_t { volta, turing, ampere, ada, hopper, blackwell, rtx_blackwell };

/// Generation of an sm number (70, 75, 80, 86, 87, 89, 90, 100, ...).
constexpr Generation generation_of_sm(int sm) {
  if (sm < 75) return Generation::volta;
  if (sm < 80) return Generation::turing;
  if (sm < 89) return Generation::ampere;
  if (sm < 90) return Generation::ada;
  if (sm < 100) return Generation::hopper;
  return sm < 120 ? Generation::blackwell : Generation::rtx_blackwell;
}

/// D[m x n] = A[m x k] * B[k x n] + C[m x n].
struct MatrixShape {
  int m = 0, n = 0, k = 0;
  constexpr bool operator==(const MatrixShape&) const = default;
};

enum class MatrixRole : uint8_t { a, b, c, d };
enum class MatrixOrder : uint8_t { row, col };
enum class MatrixFamily : uint8_t { mma, mma_sparse, wmma, wgmma, wgmma_sparse };
enum class BitOp : uint8_t { none, xor_popc, and_popc };

}  // namespace tcsim::isa
