// What leaves the program: diagnostics on stderr, files that are whole or absent, the progress line.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "isa/diag.h"

namespace tcsim::tool {

/// Prints all diagnostics to stderr (warnings too unless quiet).
void print_diagnostics(const Diagnostics& diags, bool quiet);

/// Exit code of the contract for what was found: bad input before failed kernels before failed checks;
/// warnings count as failed kernels when strict.
int exit_code(const Diagnostics& diags, bool strict);

/// Writes a file through a temporary one beside it, so that a reader never sees half of it. "-" is stdout.
/// An error goes to diags.
bool write_file(const std::string& path, std::string_view content, Diagnostics& diags);

/// True when the file can be created: checked before a long run. An error goes to diags.
bool check_writable(const std::string& path, Diagnostics& diags);

/// One line on a terminal's stderr, redrawn a few times a second; nothing when stderr is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { clear(); }
  /// instructions, cycles: 0 when not known.
  void update(uint64_t instructions, uint64_t cycles, uint64_t ctas_done, uint64_t ctas_total);
  /// Whole items of a batch.
  void update_items(uint64_t done, uint64_t total, std::string_view what);
  void clear();

 private:
  bool due();
  void draw(std::string_view counts, uint64_t done, uint64_t total, std::string_view what);
  using Clock = std::chrono::steady_clock;
  bool on_ = false, drawn_ = false;
  Clock::time_point start_, last_;
};

}  // namespace tcsim::tool
