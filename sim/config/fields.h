// The field table: one row for every number of a machine file. Loading, --set, `tcsim arch show|diff` and the
// generated documentation all walk this table, so a value is described in exactly one place.
//
//   for (const cfg::Field& f : cfg::fields()) use(f.key, f.unit, f.doc);      // "smem.banks", "", "banks of
//   ..." auto f = cfg::find_field("timing.lds.latency"); std::get<uint32_t*>(f->slot(machine))
//
// To add a number: add the member to machine.h, a row in fields.cpp, and a value with its source in each base
// machine.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/machine.h"

namespace tcsim::cfg {

/// Where a value lives in a Machine.
using Slot = std::variant<bool*, uint32_t*, uint64_t*, double*, std::string*, std::vector<uint32_t>*>;

struct Field {
  std::string key;   // "smem.banks", "timing.lds.latency", "mma.m16n8k16.f32.f16.interval"
  std::string unit;  // empty: a plain count
  std::string doc;
  double min = 0, max = 0;  // of numbers (each element of a list)
  std::function<Slot(Machine&)> slot;
  uint32_t since_sm = 0, before_sm = ~0u;  // other machines do not have it and need not give it
};

/// Every field except those of the mma rows, in the order of the machine file.
const std::vector<Field>& fields();

/// The fields of one mma row. slot() creates the row in Machine::mma.
std::vector<Field> mma_fields(const std::string& row);

/// The last components of mma_fields: latency interval stall ...
std::span<const std::string_view> mma_field_names();

struct Section {
  std::string_view name, doc;
};
std::span<const Section> sections();

/// Name of a timing class as the machine file spells it; empty for classes that have no [timing] row (none,
/// mma).
std::string_view timing_name(isa::TimingClass timing);

/// Splits "mma.m16n8k16.f32.f16.interval" (row quoted or not) into row and field name; nullopt if it is no
/// mma key.
struct MmaKey {
  std::string row, field;
};
std::optional<MmaKey> split_mma_key(std::string_view key);

/// False: the value describes the machine, and the timing model does not read it.
bool timing_reads(std::string_view key);

/// "42", "1.5", "true", "0, 8192, 16384"
std::string slot_text(const Slot& slot);

}  // namespace tcsim::cfg
