// A timeline (Chrome trace-event JSON, sim/trace/perfetto.h) in the short form that a page carries.
#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace tcsim::sim::html {

/// {processes: [name], tracks: [{process, name}], names: [text], args: [object], slices: [...], flows: [...], end}. slices: six
/// numbers each: track, first cycle, cycles, index of name, of category, of arguments. flows: five: track and cycle of both ends,
/// index of name. end: null, or the cycle from which on slices are left out so that the text stays near max_bytes.
nlohmann::ordered_json compact_timeline(const std::string& trace_events, size_t max_bytes);

}  // namespace tcsim::sim::html
