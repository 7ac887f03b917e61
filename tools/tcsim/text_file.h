// Whole text files in.
#pragma once
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "isa/diag.h"

namespace tcsim::tool {

inline std::optional<std::string> read_text_file(const std::string& path, Diagnostics& diags) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (in) return std::move(content).str();
  diags.error("syntax", {path, 0, 0}, fmt::format("cannot read the file: {}", std::strerror(errno ? errno : EIO)));
  return std::nullopt;
}

}  // namespace tcsim::tool
