#include "tools/tcsim/sweep_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/tcsim/text_file.h"
#include "validation/compare/measurements.h"

namespace tcsim::tool {

SweepFile::~SweepFile() {
  if (file_ >= 0) close(file_);
}

bool SweepFile::open(const std::string& path, bool append, Diagnostics& diags) {
  std::error_code none;
  const bool goes_on = append && std::filesystem::exists(path, none) && std::filesystem::file_size(path, none) > 0;
  if (goes_on && !read(path, diags)) return false;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (goes_on ? 0 : O_TRUNC), 0666);
  if (file_ >= 0 && (goes_on || write(sweep_csv_head()))) return true;
  diags.error("output", {path, 0, 0}, fmt::format("cannot write the file: {}", std::strerror(errno)));
  return false;
}

bool SweepFile::read(const std::string& path, Diagnostics& diags) {
  auto text = read_text_file(path, diags);
  if (!text) return false;
  const size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  const compare::CsvTable table = compare::parse_csv(path, std::string_view(*text).substr(0, whole), diags);
  if (!diags.has_errors() && table.header != sweep_columns())
    diags.error("syntax", {path, 1, 1}, "this is no CSV of a sweep of this version: --append would mix two tables");
  if (diags.has_errors()) return false;
  std::error_code error;
  if (whole != text->size()) std::filesystem::resize_file(path, whole, error);
  if (error) {
    diags.error("output", {path, 0, 0}, fmt::format("cannot drop the torn last line: {}", error.message()));
    return false;
  }
  for (const std::vector<std::string>& cells : table.rows) {
    SweepRow row;
    for (size_t i = 0; i < cells.size(); ++i) row[table.header[i]] = cells[i];
    finished_.emplace(row.key(), row);
  }
  return true;
}

bool SweepFile::add(const SweepRow& row) { return write(sweep_csv_line(row)); }

/// One call a line: with O_APPEND lines do not mix.
bool SweepFile::write(const std::string& line) { return ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()); }

}  // namespace tcsim::tool
