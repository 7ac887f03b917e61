#include "tools/tcsim/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/tcsim/commands.h"

namespace tcsim::tool {
namespace {

/// Kinds of errors that the simulated kernel itself makes (interface.md, "Diagnostics have stable kinds").
constexpr std::array<std::string_view, 7> kRunKinds = {"deadlock",       "out-of-bounds",     "misaligned", "illegal-instruction",
                                                       "barrier-misuse", "tma-byte-mismatch", "tmem-misuse"};

bool is_run_kind(std::string_view kind) {
  for (const std::string_view known : kRunKinds)
    if (known == kind) return true;
  return false;
}

std::string short_count(uint64_t n) {
  if (n < 10'000) return fmt::format("{}", n);
  if (n < 10'000'000) return fmt::format("{:.1f}k", static_cast<double>(n) / 1e3);
  return fmt::format("{:.1f}M", static_cast<double>(n) / 1e6);
}

std::string temporary_beside(const std::string& path) { return fmt::format("{}.tmp{}", path, getpid()); }

}  // namespace

void print_diagnostics(const Diagnostics& diags, bool quiet) {
  for (const Diagnostic& diagnostic : diags.all())
    if (!quiet || diagnostic.severity == Severity::error) fmt::print(stderr, "{}\n", diagnostic.str());
}

int exit_code(const Diagnostics& diags, bool strict) {
  bool input = false, kernel = false, check = false;
  for (const Diagnostic& diagnostic : diags.all()) {
    if (diagnostic.severity == Severity::warning && strict) kernel = true;
    if (diagnostic.severity != Severity::error) continue;
    if (diagnostic.kind == "check-failed") check = true;
    else if (is_run_kind(diagnostic.kind)) kernel = true;
    else input = true;
  }
  return input ? kBadInput : kernel ? kKernelFailed : check ? kCheckFailed : kSuccess;
}

bool write_file(const std::string& path, std::string_view content, Diagnostics& diags) {
  if (path == "-") {
    std::fwrite(content.data(), 1, content.size(), stdout);
    return std::fflush(stdout) == 0;
  }
  // A device or pipe (/dev/stdout) cannot be replaced by a rename: write to it directly.
  std::error_code status_error;
  const auto status = std::filesystem::status(path, status_error);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string target = special ? path : temporary_beside(path);
  errno = 0;
  std::ofstream out(target, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (out && (special || std::rename(target.c_str(), path.c_str()) == 0)) return true;
  const int code = errno ? errno : EIO;
  if (!special) std::remove(target.c_str());
  diags.error("output", {path, 0, 0}, fmt::format("cannot write the file: {}", std::strerror(code)));
  return false;
}

bool check_writable(const std::string& path, Diagnostics& diags) {
  if (path.empty() || path == "-") return true;
  std::error_code error;
  const std::filesystem::path target(path), folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  int code = 0;
  if (std::filesystem::is_directory(target, error)) code = EISDIR;
  else if (!std::filesystem::is_directory(folder, error)) code = ENOENT;
  else if (std::filesystem::exists(target, error) ? access(target.c_str(), W_OK) != 0 : access(folder.c_str(), W_OK) != 0) code = errno;
  if (code == 0) return true;
  diags.error("output", {path, 0, 0}, fmt::format("cannot write the file: {}", std::strerror(code)));
  return false;
}

ProgressLine::ProgressLine(bool wanted) : on_(wanted && isatty(STDERR_FILENO)), start_(Clock::now()), last_(start_) {}

bool ProgressLine::due() {
  const auto now = Clock::now();
  if (!on_ || now - last_ < std::chrono::milliseconds(200)) return false;
  last_ = now;
  return true;
}

void ProgressLine::draw(std::string_view counts, uint64_t done, uint64_t total, std::string_view what) {
  const double share = total ? static_cast<double>(done) / static_cast<double>(total) : 0;
  const auto filled = static_cast<size_t>(share * 20);
  std::string line =
      fmt::format("[{}{}] {:3.0f} %  {}{}/{} {}", std::string(filled, '#'), std::string(20 - filled, '.'), share * 100, counts, done, total, what);
  if (done) {
    const double spent = std::chrono::duration<double>(last_ - start_).count();
    const auto left = static_cast<uint64_t>(spent / share - spent);
    line += fmt::format("  {}:{:02} left", left / 60, left % 60);
  }
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::update(uint64_t instructions, uint64_t cycles, uint64_t done, uint64_t total) {
  if (!due()) return;
  std::string counts;
  if (instructions) counts += short_count(instructions) + " instructions  ";
  if (cycles) counts += short_count(cycles) + " cycles  ";
  draw(counts, done, total, "CTAs");
}

void ProgressLine::update_items(uint64_t done, uint64_t total, std::string_view what) {
  if (due()) draw("", done, total, what);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace tcsim::tool
