#include "sim/gpu/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tcsim::sim {
namespace {

uint32_t round_up(uint32_t value, uint32_t unit) { return unit == 0 ? value : (value + unit - 1) / unit * unit; }

/// The smallest configurable carve-out that holds the CTAs that fit; the driver prefers L1 otherwise.
uint32_t choose_carveout(const cfg::SmLimits& limits, uint32_t needed) {
  for (const uint32_t bytes : limits.smem_carveouts_bytes)
    if (bytes >= needed) return bytes;
  return limits.smem_bytes;
}

}  // namespace

uint32_t shared_bytes(const isa::Kernel& kernel, uint32_t dynamic_bytes) {
  return dynamic_bytes == 0 ? kernel.shared_static_bytes : std::max(kernel.dynamic_shared_offset, kernel.shared_static_bytes) + dynamic_bytes;
}

Occupancy compute_occupancy(const isa::Kernel& kernel, const isa::LaunchInfo& launch, uint32_t registers_per_thread, const cfg::Machine& machine,
                            const Place& place, Diagnostics& diags) {
  const cfg::SmLimits& limits = machine.limits;
  Occupancy o;
  const uint64_t threads = launch.block.count();
  o.warps_per_cta = static_cast<uint32_t>((threads + isa::kLanes - 1) / isa::kLanes);
  o.registers_per_thread = registers_per_thread;
  const uint32_t asked = shared_bytes(kernel, launch.dynamic_smem_bytes);
  o.shared_per_cta_bytes = round_up(asked + limits.smem_reserved_bytes, limits.smem_unit_bytes);

  const auto error = [&](const std::string& text) { diags.error("too-many-resources", place, text); };
  if (threads > limits.max_threads_per_cta) error(fmt::format("{} threads per CTA > {}", threads, limits.max_threads_per_cta));
  // 255 can be named in an instruction; allocation rounds up to the unit.
  if (registers_per_thread > round_up(limits.max_registers_per_thread, limits.register_unit / isa::kLanes))
    error(fmt::format("{} registers per thread > {}", registers_per_thread, limits.max_registers_per_thread));
  if (asked > limits.smem_per_cta_bytes)
    error(fmt::format("smem {} > {} B ({} static + {} dynamic)", asked, limits.smem_per_cta_bytes, kernel.shared_static_bytes,
                      launch.dynamic_smem_bytes));
  if (diags.has_errors()) return o;

  // Registers are given to warps in units, and each sub-core has its share of the file.
  const uint32_t per_warp = round_up(std::max<uint32_t>(1, registers_per_thread) * isa::kLanes, limits.register_unit);
  const uint32_t warps_by_registers = limits.registers / limits.subcores / per_warp * limits.subcores;
  o.by_registers = warps_by_registers / o.warps_per_cta;
  o.by_shared = o.shared_per_cta_bytes == 0 ? limits.max_ctas : limits.smem_bytes / o.shared_per_cta_bytes;
  o.by_warps = limits.max_warps / o.warps_per_cta;
  o.by_ctas = limits.max_ctas;
  o.by_barriers = limits.max_ctas;
  const std::pair<uint32_t, const char*> all[] = {
      {o.by_registers, "registers"}, {o.by_shared, "shared memory"}, {o.by_warps, "warps"}, {o.by_ctas, "CTAs"}};
  const auto least = *std::min_element(std::begin(all), std::end(all), [](auto& a, auto& b) { return a.first < b.first; });
  o.ctas_per_sm = least.first;
  o.limiter = least.second;
  if (o.ctas_per_sm == 0) {
    error(fmt::format("no CTA fits on an SM: {} warps of {} registers per thread need {} of {} registers", o.warps_per_cta, registers_per_thread,
                      uint64_t{per_warp} * o.warps_per_cta, limits.registers));
    return o;
  }
  o.shared_carveout_bytes = choose_carveout(limits, o.shared_per_cta_bytes * o.ctas_per_sm);
  o.l1_bytes = limits.l1_smem_bytes > o.shared_carveout_bytes ? limits.l1_smem_bytes - o.shared_carveout_bytes : 0;
  return o;
}

}  // namespace tcsim::sim
