#include "tools/tcsim/source_lines.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace tcsim::tool {
namespace {

namespace fs = std::filesystem;

/// Neither a device nor a pipe, which would never end.
std::ifstream open_source(const isa::Module& module, const fs::path& file) {
  std::error_code error;
  for (const fs::path& path : {file, fs::path(module.path).parent_path() / file.filename()})
    if (fs::is_regular_file(path, error)) return std::ifstream(path);
  return {};
}

}  // namespace

std::map<std::string, std::string> read_source_lines(const isa::Module& module, std::span<const sim::Report> reports) {
  std::set<std::string> wanted;
  for (const sim::Report& report : reports)
    for (const sim::ReportInstruction& inst : report.instructions)
      if (!inst.source.empty()) wanted.insert(inst.source);
  std::map<std::string, std::string> out;
  if (wanted.empty()) return out;
  for (const std::string& file : module.files) {
    if (file.empty()) continue;
    std::ifstream in = open_source(module, file);
    const std::string base = fs::path(file).filename().string();
    std::string text;
    for (size_t line = 1; in && std::getline(in, text); ++line) {
      const std::string place = fmt::format("{}:{}", base, line);
      if (wanted.contains(place)) out.emplace(place, text);
    }
  }
  return out;
}

}  // namespace tcsim::tool
