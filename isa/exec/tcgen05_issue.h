// Asynchronous tcgen05 operations (mma, cp, shift, commit) as one thread issues them. Executing the instruction checks and
// records it (Effects::tcgen05); it reads shared and Tensor Memory, writes Tensor Memory, or arrives on mbarriers, when
// whoever runs the CTA completes it. Operations of one CTA (of one CTA pair with cta_group::2) complete in the order of
// issue (PTX ISA, "tcgen05 Memory Consistency Model: pipelined tcgen05 instructions").
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/exec/shared_address.h"
#include "isa/exec/wgmma_issue.h"
#include "isa/ptx/module.h"

namespace tcsim::isa {

class TensorMemory;  // isa/exec/tensor_memory.h
class WindowMemory;

struct Tcgen05Op {
  enum class Kind : uint8_t { mma, cp, shift, commit };
  Kind kind = Kind::mma;
  const Inst* inst = nullptr;
  uint32_t index = 0;     // of the instruction in the kernel
  uint8_t cta_group = 1;  // 1, or 2: both CTAs of the pair (ranks r and r ^ 1)
  uint8_t rank = 0;       // of the issuing CTA in its cluster
  uint16_t warp = 0;      // that issued it
  uint64_t id = 0;        // given by TensorWatch: grows in the order of issue
  // mma
  uint32_t idesc = 0;                             // instruction descriptor
  uint64_t desc_a = 0, desc_b = 0;                // shared-memory descriptors; cp: desc_a is the source
  uint32_t d = 0;                                 // Tensor Memory addresses (lane << 16 | column): D; cp and shift: the destination
  uint32_t a = 0;                                 // A, where it is in Tensor Memory
  uint32_t scale_a = 0, scale_b = 0;              // block scale factors
  uint32_t metadata = 0;                          // of sparse A
  bool accumulate = true;                         // enable-input-d
  uint8_t scale_input_d = 0;                      // D is multiplied by 2^-scale_input_d first
  std::array<uint32_t, 8> disable_output_lane{};  // a bit a lane of D: not written
  uint64_t zero_column_mask = 0;                  // .ws: descriptor
  // commit
  SharedAddress mbarrier;                   // its offset is used in every rank of cta_mask
  uint16_t cta_mask = 0;                    // ranks that get an arrival
  std::shared_ptr<const StaleBytes> stale;  // shared bytes that it sees although they were written since, for want of a fence
};

/// Memories of the CTAs that an operation works on: [0] the CTA with the even rank (cta_group::1: the issuing one), [1] its
/// peer, nullptr with cta_group::1.
struct Tcgen05Memories {
  std::array<TensorMemory*, 2> tensor{};
  std::array<const WindowMemory*, 2> shared{};
};

/// A rectangle of Tensor Memory. cta: 0 or 1 as in Tcgen05Memories.
struct TensorRange {
  uint8_t cta = 0;
  uint16_t lane = 0, lanes = 0, column = 0, columns = 0;
};

/// What an operation touches, for hazards and bounds.
struct Tcgen05Touches {
  enum Role : uint8_t { d, a, scale_a, scale_b, metadata, copy };
  struct Read {
    TensorRange range;
    Role role;
  };
  std::vector<Read> reads;                       // operands (not D as an input)
  std::vector<TensorRange> writes;               // D, or the destination
  std::array<std::vector<WgmmaRead>, 2> shared;  // bytes of shared memory, by CTA
};

/// What an operation costs the machine; cycles come from the machine file.
struct Tcgen05Work {
  uint32_t m = 0, n = 0, k = 0;  // of the whole instruction (both CTAs); k of the dense problem: it computes 2 m n k operations
  uint32_t k_bytes = 0;          // dense bytes of one row of A that the tensor core works through (32 a step for full-rate kinds)
  bool a_in_tensor_memory = false, weight_stationary = false, sparse = false, scaled = false;
  std::array<uint32_t, 2> a_bytes{}, b_bytes{};  // read from the shared memory of each CTA
  uint32_t copy_bytes = 0;                       // cp, shift: Tensor Memory bytes written in each CTA
  std::string_view kind;                         // "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"; empty: no mma
  std::string_view arithmetic_note;              // empty when hardware vectors confirm the result bits, else what is not confirmed
};

/// What Inst::plan of tcgen05.mma, cp and shift starts with: the functions for one instruction.
struct Tcgen05Ops {
  void (*complete)(const Tcgen05Op& op, const Tcgen05Memories& memories) = nullptr;
  void (*touches)(const Tcgen05Op& op, Tcgen05Touches& out) = nullptr;
  Tcgen05Work (*work)(const Tcgen05Op& op) = nullptr;
  static const Tcgen05Ops& of(const Tcgen05Op& op) { return *static_cast<const Tcgen05Ops*>(op.inst->plan); }
};

}  // namespace tcsim::isa
