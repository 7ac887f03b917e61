// Pieces that the text report is made of: numbers, bars, columns on a 100-column terminal.
#pragma once
#include <string>
#include <string_view>

#include "sim/report/writers.h"

namespace tcsim::sim::text {

constexpr size_t kColumns = 100;

/// 21655 -> "21,655"
std::string count(double v);
/// Three significant digits with the unit's prefix: 1234567 "B" -> "1.23 MB".
std::string amount(double v, std::string_view unit);
/// 0.3125 -> "31.2 %" (a share); values of 99.95 % and more print as "100 %".
std::string share(double v);
/// Shortens to width display columns, ending in "...".
std::string fit(std::string_view s, size_t width);
/// The same for "file.cu:31": the line stays, the name is shortened.
std::string fit_place(std::string_view place, size_t width);
/// Display columns of UTF-8 text.
size_t width_of(std::string_view s);
/// Pads on the right (left: on the left) to width display columns.
std::string pad(std::string_view s, size_t width);
std::string pad_left(std::string_view s, size_t width);

struct Paint {
  TextOptions options;

  std::string bold(std::string_view s) const { return code("1", s); }
  std::string dim(std::string_view s) const { return code("2", s); }
  std::string good(std::string_view s) const { return code("32", s); }
  std::string warn(std::string_view s) const { return code("33", s); }
  std::string bad(std::string_view s) const { return code("31", s); }
  std::string code(const char* ansi, std::string_view s) const;
  /// A bar of `width` columns, filled to share v of it.
  std::string bar(double v, size_t width) const;
  std::string rule() const;
  /// "Stalls ─────"
  std::string heading(std::string_view title, std::string_view note = {}) const;
};

/// The mbarriers' part of the section "Barriers" (text_barriers.cpp): the stages of a pipeline together, and what they say.
std::string mbarrier_lines(const Report& report, const Paint& paint);

}  // namespace tcsim::sim::text
