// What the mma.sync generators need to know of an operand type.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tcsim::gemm {

/// The forms of one generation. A step of K is what one fragment of 16 rows (ldmatrix.x4, or on Volta a 16-byte load) holds.
struct OperandType {
  std::string name;  // of the elements in memory: "f16"
  uint32_t bytes;
  std::string shape;       // of mma: "m16n8k16"
  std::string multiplied;  // operand type of mma
  uint32_t step_bytes;     // of K: 32 with ldmatrix, 16 on Volta
  std::string accumulate, output;
  uint32_t sm;  // first target
  uint32_t step_k() const { return step_bytes / bytes; }
};

/// emulate: "3xtf32" or "bf16x9" make products of f32 from narrower ones; "": none. nullopt: no such form.
inline std::optional<OperandType> operand_type(const std::string& style, const std::string& dtype, const std::string& acc,
                                               const std::string& emulate) {
  const auto make = [&](uint32_t bytes, const char* shape, std::string out, uint32_t sm, std::string multiplied = "", uint32_t step_bytes = 32) {
    return OperandType{dtype, bytes, shape, multiplied.empty() ? dtype : std::move(multiplied), step_bytes, acc, std::move(out), sm};
  };
  const bool half = dtype == "f16" && (acc == "f32" || acc == "f16"), integer = (dtype == "s8" || dtype == "u8") && acc == "s32";
  if (dtype == "f32") {
    if (style != "ampere" || acc != "f32") return std::nullopt;
    if (emulate == "3xtf32") return make(4, "m16n8k8", "f32", 80, "tf32");
    if (emulate == "bf16x9") return make(4, "m16n8k8", "f32", 80, "bf16");
    return std::nullopt;
  }
  if (!emulate.empty()) return std::nullopt;
  if (style == "volta") return dtype == "f16" && acc == "f32" ? std::optional(make(2, "m8n8k4", "f16", 70, "", 16)) : std::nullopt;
  if (style == "turing") {
    if (half) return make(2, "m16n8k8", "f16", 75);
    if (integer) return make(1, "m8n8k16", "s32", 75);
    return std::nullopt;
  }
  if (half) return make(2, "m16n8k16", "f16", 80);
  if (dtype == "bf16" && acc == "f32") return make(2, "m16n8k16", "bf16", 80);
  if (dtype == "tf32" && acc == "f32") return make(4, "m16n8k8", "f32", 80);
  if (integer) return make(1, "m16n8k32", "s32", 80);
  if ((dtype == "e4m3" || dtype == "e5m2") && acc == "f32") return make(1, "m16n8k32", "f32", 89);
  return std::nullopt;
}

}  // namespace tcsim::gemm
