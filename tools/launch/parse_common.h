// Shared by the files that parse the launch file's sections.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/launch/document.h"
#include "tools/launch/launch_file.h"

namespace tcsim::launch {

/// "a1 b2" or "a1b2" -> bytes; nullopt when it is not pairs of hex digits.
std::optional<std::vector<uint8_t>> bytes_from_hex(std::string_view text);
/// Whole file, or nullopt with an error at `place`.
std::optional<std::vector<uint8_t>> read_bytes(const std::string& path, const Place& place, Diagnostics& diags);
/// "hex" or "file:PATH" (relative to the launch file's folder).
std::optional<std::vector<uint8_t>> read_bytes_value(const LaunchFile& file, const std::string& text, const Place& place, Diagnostics& diags);

std::vector<Argument> parse_arguments(const LaunchFile& file, TableReader& reader);
std::vector<Patch> parse_patches(TableReader& reader);
void parse_buffers(LaunchFile& file, TableReader& root);
void parse_tensormaps(LaunchFile& file, TableReader& root);
void parse_check(LaunchFile& file, TableReader& root);

/// Names that sections refer to exist: buffers and tensor maps. Errors with suggestions.
void check_references(const LaunchFile& file, Diagnostics& diags);

}  // namespace tcsim::launch
