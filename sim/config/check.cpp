#include "sim/config/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>

namespace tcsim::cfg {
namespace {

constexpr std::array<std::string_view, 7> kGenerations = {"volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx_blackwell"};

class Checker {
 public:
  Checker(const std::function<Place(const std::string&)>& place_of, Diagnostics& diags) : place_of_(place_of), diags_(diags) {}

  void require(bool good, const std::string& key, const std::string& text) {
    if (!good) diags_.error("machine-file", place_of_(key), text);
  }
  void power_of_two(const std::string& key, uint64_t v) {
    require(std::has_single_bit(v), key, fmt::format("found {} = {}, expected a power of two", key, v));
  }
  void multiple(const std::string& key, uint64_t v, const std::string& of_key, uint64_t of) {
    require(of != 0 && v % of == 0, key, fmt::format("found {} = {}, expected a multiple of {} = {}", key, v, of_key, of));
  }
  void at_most(const std::string& key, double v, const std::string& limit_key, double limit) {
    require(v <= limit, key, fmt::format("found {} = {}, expected at most {} = {}", key, v, limit_key, limit));
  }

 private:
  const std::function<Place(const std::string&)>& place_of_;
  Diagnostics& diags_;
};

void check_chip(const Machine& m, Checker& check) {
  check.require(std::find(kGenerations.begin(), kGenerations.end(), m.chip.generation) != kGenerations.end(), "chip.generation",
                fmt::format("found chip.generation = {}, expected one of: {}", m.chip.generation, fmt::join(kGenerations, ", ")));
  check.multiple("limits.max_warps", m.limits.max_warps, "limits.subcores", m.limits.subcores);
  // Masks of a sub-core's warps are 32 bits wide.
  check.at_most("limits.max_warps", m.limits.max_warps, "32 x limits.subcores", 32.0 * m.limits.subcores);
  check.at_most("limits.smem_per_cta_bytes", m.limits.smem_per_cta_bytes, "limits.smem_bytes", m.limits.smem_bytes);
  check.at_most("limits.smem_bytes", m.limits.smem_bytes, "limits.l1_smem_bytes", m.limits.l1_smem_bytes);
  const auto& shares = m.limits.smem_carveouts_bytes;
  check.require(std::is_sorted(shares.begin(), shares.end()), "limits.smem_carveouts_bytes",
                "found limits.smem_carveouts_bytes out of order, expected ascending sizes");
  check.at_most("limits.smem_carveouts_bytes", shares.back(), "limits.l1_smem_bytes", m.limits.l1_smem_bytes);
  check.require(shares.back() >= m.limits.smem_bytes, "limits.smem_carveouts_bytes",
                fmt::format("found a largest carve-out of {}, expected at least limits.smem_bytes = {}", shares.back(), m.limits.smem_bytes));
}

void check_memory(const Machine& m, Checker& check) {
  check.power_of_two("smem.banks", m.smem.banks);
  check.power_of_two("smem.bank_bytes", m.smem.bank_bytes);
  check.power_of_two("l1.line_bytes", m.l1.line_bytes);
  check.power_of_two("l1.sector_bytes", m.l1.sector_bytes);
  check.multiple("l1.line_bytes", m.l1.line_bytes, "l1.sector_bytes", m.l1.sector_bytes);
  check.power_of_two("l2.line_bytes", m.l2.line_bytes);
  check.power_of_two("l2.sector_bytes", m.l2.sector_bytes);
  check.multiple("l2.line_bytes", m.l2.line_bytes, "l2.sector_bytes", m.l2.sector_bytes);
  check.multiple("l1.sector_bytes", m.l1.sector_bytes, "l2.sector_bytes", m.l2.sector_bytes);
  check.multiple("l2.slices", m.l2.slices, "chip.partitions", m.chip.partitions);
  check.at_most("l2.near_cycles", m.l2.near_cycles, "l2.far_cycles", m.l2.far_cycles);
  check.require(m.l1.hit_cycles < m.l2.near_cycles, "l1.hit_cycles",
                fmt::format("found l1.hit_cycles = {}, expected less than l2.near_cycles = {}", m.l1.hit_cycles, m.l2.near_cycles));
  check.at_most("dram.refresh_cycles", m.dram.refresh_cycles, "dram.refresh_interval_cycles", m.dram.refresh_interval_cycles);
  check.power_of_two("dram.access_bytes", m.dram.access_bytes);
  check.power_of_two("dram.tlb_page_bytes", m.dram.tlb_page_bytes);
  check.power_of_two("fetch.bytes_per_instruction", m.fetch.bytes_per_instruction);
  check.multiple("fetch.line_bytes", m.fetch.line_bytes, "fetch.bytes_per_instruction", m.fetch.bytes_per_instruction);
  check.multiple("fetch.l0_bytes", m.fetch.l0_bytes, "fetch.line_bytes", m.fetch.line_bytes);
  check.multiple("fetch.l1_bytes", m.fetch.l1_bytes, "fetch.line_bytes", m.fetch.line_bytes);
  check.at_most("launch.start_cycles", m.launch.start_cycles, "launch.overhead_cycles", m.launch.overhead_cycles);
}

/// shape.d.a[.b][.sp]: "m16n8k16.f32.f16"
bool is_row_name(std::string_view row) {
  size_t at = 0;
  for (char dimension : {'m', 'n', 'k'}) {
    if (at >= row.size() || row[at++] != dimension) return false;
    const size_t digits = at;
    while (at < row.size() && std::isdigit(static_cast<unsigned char>(row[at]))) ++at;
    if (at == digits) return false;
  }
  const auto types = std::count(row.begin() + static_cast<std::ptrdiff_t>(at), row.end(), '.');
  return at < row.size() && row[at] == '.' && row.back() != '.' && types >= 2 && types <= 4;
}

void check_rows(const Machine& m, Checker& check) {
  for (const auto& [row, timing] : m.mma) {
    check.require(is_row_name(row), "mma." + row + ".latency",
                  fmt::format("found mma row \"{}\", expected shape.d.a, for example m16n8k16.f32.f16", row));
  }
}

}  // namespace

void check_machine(const Machine& machine, const std::function<Place(const std::string&)>& place_of, Diagnostics& diags) {
  Checker check(place_of, diags);
  check_chip(machine, check);
  check_memory(machine, check);
  check_rows(machine, check);
}

}  // namespace tcsim::cfg
