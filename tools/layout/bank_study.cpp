#include "tools/layout/bank_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "isa/type.h"
#include "tools/layout/instructions.h"

namespace tcsim::layout {
namespace {

constexpr std::pair<const char*, isa::Swizzle> kNamed[] = {
    {"none", isa::kSwizzleNone}, {"32B", isa::kSwizzle32B}, {"64B", isa::kSwizzle64B}, {"128B", isa::kSwizzle128B}};

bool parse_number(std::string_view text, int& out) {
  const auto [end, e] = std::from_chars(text.data(), text.data() + text.size(), out);
  return e == std::errc() && end == text.data() + text.size();
}

int log2(int n) { return n <= 1 ? 0 : 1 + log2(n / 2); }

uint32_t linear_address(const AccessPattern& p, int lane, int pad) {
  const auto at = [&](int bytes) { return p.offset + static_cast<uint32_t>(bytes); };
  if (!p.addresses.empty()) {
    constexpr uint32_t line = 128;
    const uint32_t a = p.addresses[static_cast<size_t>(lane)];
    return a + a / line * static_cast<uint32_t>(pad);
  }
  const int row = p.row_bytes + pad;
  if (p.matrices > 0) return at(lane % 16 * row + lane / 16 * 16);
  if (p.row_bytes > 0) return at(lane / p.lanes_per_row * row + lane % p.lanes_per_row * p.bytes);
  return at(lane * (p.stride_bytes + pad));
}

isa::Access access_with(const AccessPattern& p, const isa::Swizzle& swizzle, int pad) {
  isa::Access a;
  a.kind = p.kind;
  a.space = isa::Space::shared;
  a.bytes = static_cast<uint8_t>(p.bytes);
  const int lanes = p.matrices > 0 ? 8 * p.matrices : p.addresses.empty() ? 32 : static_cast<int>(p.addresses.size());
  a.mask = lanes >= 32 ? ~0u : (1u << lanes) - 1;
  a.address.fill(0);
  for (int lane = 0; lane < std::min(lanes, 32); ++lane) a.address[static_cast<size_t>(lane)] = swizzle(linear_address(p, lane, pad));
  return a;
}

uint32_t group_size(const AccessPattern& p) { return p.matrices > 0 || p.bytes == 16 ? 8 : p.bytes == 8 ? 16 : 32; }

std::vector<BankMeeting> meetings_of(const AccessPattern& p, const isa::Access& a, sim::Banks banks) {
  std::vector<BankMeeting> out;
  const uint32_t n = group_size(p);
  for (uint32_t first = 0; first < 32; first += n) {
    std::map<uint32_t, std::map<uint64_t, uint32_t>> words;  // bank -> word -> first lane
    for (uint32_t lane = first; lane < first + n; ++lane)
      if (a.mask >> lane & 1)
        for (uint64_t w = a.address[lane] / banks.bytes; w <= (a.address[lane] + a.bytes - 1) / banks.bytes; ++w)
          words[static_cast<uint32_t>(w % banks.count)].emplace(w, lane);
    BankMeeting worst;
    uint32_t conflicts = 0;
    for (const auto& [bank, lanes] : words) {
      conflicts += lanes.size() > 1;
      if (lanes.size() > std::max<size_t>(1, worst.lanes.size())) {
        worst = {first, bank, {}, 0};
        for (const auto& [word, lane] : lanes) worst.lanes.push_back(lane);
      }
    }
    worst.others = conflicts - !worst.lanes.empty();
    std::sort(worst.lanes.begin(), worst.lanes.end());
    if (!worst.lanes.empty()) out.push_back(std::move(worst));
  }
  return out;
}

/// The smallest swizzle and the smallest padding that leave no conflict.
std::vector<Proposal> proposals_for(const AccessPattern& p, sim::Banks banks) {
  std::vector<Proposal> out;
  const auto clean = [](const sim::Wavefronts& w) { return w.conflicts() == 0; };
  const int unit = log2(p.bytes);
  const auto try_swizzle = [&](const isa::Swizzle& s) {
    const sim::Wavefronts w = count_wavefronts(access_with(p, s, 0), banks);
    if (!clean(w)) return false;
    const std::string name = tma_name(s);
    out.push_back({fmt::format("{}{}", name.empty() ? "" : fmt::format("the {} swizzle of TMA: ", name), describe(s, p.element_bytes)), w});
    return true;
  };
  bool found = false;
  for (const auto& [name, s] : kNamed) found = found || (s.bits > 0 && s.base >= unit && try_swizzle(s));
  for (int bits = 1; bits <= 5 && !found; ++bits)
    for (int shift = bits; shift <= 12 && !found; ++shift) found = try_swizzle({bits, unit, shift});
  for (int pad = std::max(p.bytes, 4); pad <= 128; pad += std::max(p.bytes, 4)) {
    const sim::Wavefronts w = count_wavefronts(access_with(p, isa::kSwizzleNone, pad), banks);
    if (!clean(w)) continue;
    out.push_back({!p.addresses.empty()            ? fmt::format("{} bytes of padding after every 128", pad)
                   : p.matrices > 0 || p.row_bytes ? fmt::format("no swizzle, rows of {} B ({} of padding)", p.row_bytes + pad, pad)
                                                   : fmt::format("no swizzle, a stride of {} B ({} of padding)", p.stride_bytes + pad, pad),
                   w});
    break;
  }
  return out;
}

}  // namespace

std::optional<AccessPattern> parse_access(const std::string& name, std::string& error) {
  AccessPattern p;
  p.name = name;
  const auto words = split_words(name, '.');
  const bool store = words[0] == "st" || words[0] == "stmatrix";
  if (words[0] == "ldmatrix" || words[0] == "stmatrix") {
    p.kind = store ? isa::AccessKind::stmatrix : isa::AccessKind::ldmatrix;
    p.bytes = 16;
    for (const auto word : words)
      if (word == "x1" || word == "x2" || word == "x4") p.matrices = word[1] - '0';
      else if (word != words[0] && word != "trans" && word != "sync" && word != "aligned" && word != "m8n8" && word != "shared" && word != "b16")
        p.matrices = -1;
    if (p.matrices > 0) return p;
  } else if ((words[0] == "ld" || store) && words.size() >= 3 && words.size() <= 4 && words[1].starts_with("shared")) {
    p.kind = store ? isa::AccessKind::store : isa::AccessKind::load;
    const auto type = isa::type_from_name(words.back());
    const int vector = words.size() == 3 ? 1 : words[2] == "v2" ? 2 : words[2] == "v4" ? 4 : words[2] == "v8" ? 8 : 0;
    const int bytes = type ? isa::bits(*type) / 8 * vector : 0;
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) {
      p.bytes = bytes;
      p.element_bytes = isa::bits(*type) / 8;
      return p;
    }
  }
  error = fmt::format(
      "access '{}', expected ld.shared.TYPE or st.shared.TYPE (with .v2 or .v4; at most 16 bytes a lane), ldmatrix.x1|x2|x4[.trans] or "
      "stmatrix.x1|x2|x4[.trans]",
      name);
  return std::nullopt;
}

std::optional<isa::Swizzle> parse_swizzle(const std::string& text, int element_bytes, std::string& error) {
  for (const auto& [name, s] : kNamed)
    if (text == name) return s;
  if (text == "128B_atom_32B") return isa::Swizzle{2, 5, 2};
  if (text == "128B_atom_64B") return isa::Swizzle{1, 6, 1};
  const auto words = split_words(text, ',');
  isa::Swizzle s;
  if (words.size() == 3 && parse_number(words[0], s.bits) && parse_number(words[1], s.base) && parse_number(words[2], s.shift)) {
    s = s.for_bytes(element_bytes);
    if (s.bits >= 0 && s.base >= 0 && s.shift >= s.bits && s.base + s.shift + s.bits < 32) return s;
    error = fmt::format("swizzle {}: expected B >= 0, M >= 0, S >= B (else the bits overlap)", text);
    return std::nullopt;
  }
  error = fmt::format("swizzle '{}', expected none, 32B, 64B, 128B, 128B_atom_32B, 128B_atom_64B or B,M,S", text);
  return std::nullopt;
}

std::string tma_name(const isa::Swizzle& bytes) {
  for (const auto& [name, s] : kNamed)
    if (s == bytes && s.bits > 0) return name;
  return {};
}

std::string describe(const isa::Swizzle& s, int element_bytes) {
  if (s.bits == 0) return "no swizzle";
  const isa::Swizzle e = s.for_elements(element_bytes);
  return fmt::format("Swizzle<{},{},{}> on bytes = Swizzle<{},{},{}> on elements of {} B", s.bits, s.base, s.shift, e.bits, e.base, e.shift,
                     element_bytes);
}

isa::Access make_access(const AccessPattern& p, std::string& error) {
  isa::Access a = access_with(p, p.swizzle, 0);
  if (p.swizzle.bits > 0 && (1 << p.swizzle.base) < p.bytes)
    error = fmt::format("{} moves units of {} B, but a lane accesses {} bytes in a row: they would be torn apart",
                        describe(p.swizzle, p.element_bytes), 1 << p.swizzle.base, p.bytes);
  for (uint32_t lane = 0; lane < 32 && error.empty(); ++lane)
    if ((a.mask >> lane & 1) && a.address[lane] % static_cast<uint64_t>(p.bytes) != 0)
      error = fmt::format("lane {} accesses address {:#x}, expected a multiple of {} for {}", lane, a.address[lane], p.bytes, p.name);
  return a;
}

BankStudy study(const AccessPattern& p, sim::Banks banks, std::string& error) {
  const isa::Access a = make_access(p, error);
  BankStudy s;
  if (!error.empty()) return s;
  s.now = count_wavefronts(a, banks);
  if (s.now.conflicts() == 0) return s;
  s.meetings = meetings_of(p, a, banks);
  s.proposals = proposals_for(p, banks);
  return s;
}

}  // namespace tcsim::layout
