#include "sim/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tcsim::sim::text {

std::string count(double v) {
  const std::string digits = fmt::format("{:.0f}", v);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') out += ',';
    out += digits[i];
  }
  return out;
}

std::string amount(double v, std::string_view unit) {
  static constexpr std::string_view prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t step = 0;
  while (v >= 999.5 && step + 1 < std::size(prefixes)) {
    v /= 1000;
    ++step;
  }
  const int digits = v >= 99.95 || v == std::floor(v) ? 0 : v >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", v, digits, prefixes[step], unit);
}

std::string share(double v) {
  const double percent = 100 * v;
  return percent >= 99.95 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.1f} %", percent);
}

namespace {
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
}  // namespace

size_t width_of(std::string_view s) { return static_cast<size_t>(std::count_if(s.begin(), s.end(), starts_character)); }

std::string fit(std::string_view s, size_t width) {
  if (width_of(s) <= width) return std::string(s);
  const size_t keep = width > 3 ? width - 3 : 0;
  size_t seen = 0, at = 0;
  for (; at < s.size(); ++at) {
    if (starts_character(s[at]) && seen++ == keep) break;
  }
  std::string out(s.substr(0, at));
  out.append(std::min<size_t>(3, width), '.');
  return out;
}

std::string fit_place(std::string_view place, size_t width) {
  const size_t colon = std::min(place.find_last_of(':'), place.size());
  const std::string_view line = place.substr(colon);
  if (line.size() >= width) return fit(place, width);
  return fit(place.substr(0, colon), width - line.size()).append(line);
}

std::string pad(std::string_view s, size_t width) {
  const size_t have = width_of(s);
  std::string out(s);
  out.append(width > have ? width - have : 0, ' ');
  return out;
}

std::string pad_left(std::string_view s, size_t width) {
  const size_t have = width_of(s);
  std::string out(width > have ? width - have : 0, ' ');
  out += s;
  return out;
}

std::string Paint::code(const char* ansi, std::string_view s) const {
  return options.colour && !s.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", ansi, s) : std::string(s);
}

std::string Paint::bar(double v, size_t width) const {
  const double filled = std::clamp(v, 0.0, 1.0) * static_cast<double>(width);
  std::string out;
  if (!options.unicode) {
    const auto full = static_cast<size_t>(std::lround(filled));
    out.assign(full, '#');
    out.append(width - full, '.');
    return out;
  }
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto parts = static_cast<size_t>(std::lround(filled * 8));
  for (size_t i = 0; i < parts / 8; ++i) out += "█";
  out += eighths[parts % 8];
  return pad(out, width);
}

std::string Paint::rule() const {
  std::string out;
  for (size_t i = 0; i < kColumns; ++i) out += options.unicode ? "─" : "-";
  return dim(out) + "\n";
}

std::string Paint::heading(std::string_view title, std::string_view note) const {
  return fmt::format("\n{}{}\n", bold(title), note.empty() ? "" : "  " + dim(note));
}

}  // namespace tcsim::sim::text
