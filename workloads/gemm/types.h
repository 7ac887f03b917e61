// What the generators need to know of an operand type.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tcsim::gemm {

struct OperandType {
  std::string name;      // in PTX mma: "f16"
  uint32_t bytes;        // in memory
  std::string mma_shape; // "m16n8k16"
  uint32_t mma_k;        // K of one mma: always 32 bytes
  std::string accumulate, output;
  uint32_t sm;           // first target
};

/// The mma.sync form for (dtype, acc); nullopt when there is none.
inline std::optional<OperandType> operand_type(const std::string& dtype, const std::string& acc) {
  const auto make = [&](uint32_t bytes, const char* shape, uint32_t k, std::string out, uint32_t sm) {
    return OperandType{dtype, bytes, shape, k, acc, std::move(out), sm};
  };
  if (dtype == "f16" && (acc == "f32" || acc == "f16")) return make(2, "m16n8k16", 16, "f16", 80);
  if (dtype == "bf16" && acc == "f32") return make(2, "m16n8k16", 16, "bf16", 80);
  if (dtype == "tf32" && acc == "f32") return make(4, "m16n8k8", 8, "f32", 80);
  if ((dtype == "s8" || dtype == "u8") && acc == "s32") return make(1, "m16n8k32", 32, "s32", 80);
  if ((dtype == "e4m3" || dtype == "e5m2") && acc == "f32") return make(1, "m16n8k32", 32, "f32", 89);
  return std::nullopt;
}

}  // namespace tcsim::gemm
