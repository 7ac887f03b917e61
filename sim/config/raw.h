// A machine file as written: values with their place and source, not yet checked against the field table.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isa/diag.h"

namespace tcsim::cfg {

/// monostate: some other TOML type (a date, a nested table, a mixed list); `shown` says which.
using RawScalar = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>>;

struct RawValue {
  RawScalar value;
  std::string shown;       // for messages: "string \"x\"", "integer 3"
  std::string source;      // "doc:..."
  Place place;             // of the value
  bool inherited = false;  // from the base
};

struct RawMachine {
  std::string path, name, description, base;
  Place base_place;
  std::map<std::string, RawValue> values;                        // "smem.banks", "timing.lds.latency", "mma.m16n8k16.f32.f16.interval"
  std::map<std::string, std::pair<std::string, Place>> same_as;  // mma row -> row whose values it shares
};

/// Reads TOML text. Syntax errors and values that are not { value = ..., source = "..." } go to diags.
RawMachine read_machine_toml(std::string_view text, const std::string& path, Diagnostics& diags);

}  // namespace tcsim::cfg
