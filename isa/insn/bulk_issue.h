// One thread's bulk copy on its way into Effects::bulk: operands to addresses, and the rules that the manual gives for them.
#pragma once
#include <span>
#include <string>

#include "isa/exec/context.h"
#include "isa/insn/def.h"

namespace tcsim::isa {

// Inst::flags of the bulk instructions.
namespace bulk_flag {
constexpr uint32_t kOwnCta = 1;  // the destination is .shared::cta
constexpr uint32_t kMulticast = 2;
constexpr uint32_t kOffsets = 4;    // an operand with im2col offsets
constexpr uint32_t kIm2col = 8;     // .im2col and .im2col_no_offs: the map must be of that mode
constexpr uint32_t kByteMask = 16;  // .cp_mask
constexpr uint32_t kRead = 32;      // wait_group.read
constexpr uint32_t kHint = 64;      // a cache-policy operand
constexpr uint32_t kPair = 128;     // .cta_group::2
}  // namespace bulk_flag

/// Collects one lane's copy. Each step returns false after a fault.
class BulkIssue {
 public:
  BulkIssue(ExecContext& ctx, int lane, BulkCopy::Kind kind) : ctx_(ctx), lane_(lane) {
    copy.kind = kind;
    copy.lane = static_cast<uint8_t>(lane);
  }

  BulkCopy copy;

  /// An address in shared memory: of this CTA (own), or of any in the cluster.
  bool shared(const Operand& op, bool own, SharedAddress& out, const char* what);
  bool size(const Operand& op);                      // copy.bytes: a multiple of 16
  bool global(const Operand& op, const char* what);  // copy.global and its range of copy.bytes
  bool mbarrier(const Operand& op, const SharedAddress& destination, bool own);
  bool mask(const Operand& op);  // copy.cta_mask
  /// copy.shared (or any other address) is `align`-aligned and has copy.bytes in the CTA's window.
  bool in_window(const SharedAddress& address, uint32_t align, const char* what);
  /// in_window for the destination, in every CTA that gets the bytes.
  bool destination(uint32_t align);
  /// Map, coordinates and bytes. group: [map, coordinates]; offsets: im2col offsets or empty.
  bool tensor(std::span<const Operand> group, std::span<const Operand> offsets, bool im2col);

  /// The copy is complete: those who watch the shared memories that it reads and writes (isa/exec/shared_watch.h).
  void tell_watches();

  bool fault(const char* kind, uint64_t address, std::string text);
  uint32_t value32(const Operand& op) const;

 private:
  uint64_t address(const Operand& op) const;
  const WindowMemory& window(uint32_t rank) const;
  bool read_map(uint64_t address);
  bool rows_mapped();

  ExecContext& ctx_;
  int lane_;
};

/// The operand that names a tensor map or any generic memory: a variable gets its generic address.
void make_generic(const Inst& inst, int group);

std::span<const InstDef> tensormap_instructions();  // tensormap.replace, tensormap.cp_fenceproxy; part of the bulk chapter

}  // namespace tcsim::isa
