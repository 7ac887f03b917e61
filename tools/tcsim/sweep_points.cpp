// From the lists of `tcsim sweep` to its points.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tools/tcsim/gemm_best.h"
#include "tools/tcsim/sweep_axis.h"
#include "tools/tcsim/sweep_command.h"
#include "tools/tcsim/sweep_text.h"

namespace tcsim::tool {
namespace {

/// The lists, read. An empty list: not given.
struct Axes {
  std::vector<uint32_t> m, n, k, stages, consumers;
  std::vector<std::string> dtypes, styles, swizzles;
  std::vector<std::array<uint32_t, 3>> tiles;
  std::vector<std::array<uint32_t, 2>> clusters, warps;
};

bool told(const char* option, const std::string& wrong) {
  if (!wrong.empty()) usage_error(fmt::format("{}: {}", option, wrong));
  return !wrong.empty();
}

template <class T, class Parse>
bool read_axis(const char* option, const std::string& text, Parse parse, std::vector<T>& out) {
  return text.empty() || !told(option, parse(text, out));
}

bool read_words(const char* option, const std::string& text, const std::vector<std::string>& known, std::vector<std::string>& out) {
  out = split_list(text);
  for (const std::string& word : out)
    if (std::find(known.begin(), known.end(), word) == known.end())
      return !told(option, fmt::format("'{}', expected {}", word, fmt::join(known, " ")));
  return true;
}

std::string parse_stages(const std::string& text, std::vector<uint32_t>& out) {
  if (std::string wrong = parse_numbers(text, out); !wrong.empty()) return wrong;
  return std::find(out.begin(), out.end(), 0u) == out.end() ? "" : fmt::format("'{}': a kernel has at least 1 stage", text);
}

bool read_axes(const SweepCommand& c, Axes& axes) {
  axes.dtypes = split_list(c.dtype);  // the generator says which it takes
  return read_axis("-m", c.m, parse_numbers, axes.m) && read_axis("-n", c.n, parse_numbers, axes.n) && read_axis("-k", c.k, parse_numbers, axes.k) &&
         read_axis("--stages", c.stages, parse_stages, axes.stages) && read_axis("--consumers", c.consumers, parse_numbers, axes.consumers) &&
         read_axis("--tile", c.tile, parse_extents<3>, axes.tiles) && read_axis("--cluster", c.cluster, parse_extents<2>, axes.clusters) &&
         read_axis("--warps", c.warps, parse_extents<2>, axes.warps) && read_words("--style", c.style, gemm::styles(), axes.styles) &&
         read_words("--swizzle", c.swizzle, {"none", "padded", "xor"}, axes.swizzles);
}

/// Machines and their values; each list of --set multiplies.
int read_machines(const SweepCommand& command, std::vector<SweepMachine>& out, Diagnostics& diags) {
  std::vector<std::vector<std::pair<std::string, std::string>>> settings = {{}};
  std::set<std::string> keys;
  for (const std::string& text : command.set) {
    MachineValues values;
    if (told("--set", parse_machine_values(text, values))) return kUsage;
    if (!keys.insert(values.first).second) return usage_error(fmt::format("--set: '{}' is given twice: list its values", values.first));
    std::vector<std::vector<std::pair<std::string, std::string>>> more;
    for (const auto& setting : settings)
      for (const std::string& value : values.second) {
        more.push_back(setting);
        more.back().emplace_back(values.first, value);
      }
    if (more.size() > kMostPoints) return usage_error(fmt::format("--set: more than {} machines", kMostPoints));
    settings = std::move(more);
  }
  const std::vector<std::string> names = split_list(command.arch);
  if (names.empty()) return usage_error("--arch names no machine");
  for (const std::string& arch : names)
    for (const auto& setting : settings) {
      std::vector<std::string> texts;
      for (const auto& [key, value] : setting) texts.push_back(key + "=" + value);
      auto machine = cfg::load_machine(arch, setting, diags);
      if (diags.has_errors()) return kBadInput;
      out.push_back({arch, fmt::format("{}", fmt::join(texts, " ")), std::make_shared<const cfg::Machine>(std::move(*machine))});
    }
  return kSuccess;
}

/// Applies each value of an axis to each command so far; an empty axis changes nothing.
template <class T>
void multiply(std::vector<GemmCommand>& list, const std::vector<T>& values, const std::function<void(GemmCommand&, const T&)>& apply) {
  if (values.empty()) return;
  std::vector<GemmCommand> longer;
  for (const GemmCommand& each : list)
    for (const T& value : values) {
      longer.push_back(each);
      apply(longer.back(), value);
    }
  list = std::move(longer);
}

size_t count_of(const Axes& a) {
  size_t count = 1;
  for (const size_t size : {a.m.size(), a.n.size(), a.k.size(), a.dtypes.size(), a.styles.size(), a.tiles.size(), a.stages.size(), a.clusters.size(),
                            a.swizzles.size(), a.warps.size(), a.consumers.size()}) {
    count *= std::max<size_t>(1, size);
    if (count > kMostPoints) return count;  // before it overflows
  }
  return count;
}

std::vector<GemmCommand> combinations(const SweepCommand& command, const Axes& a) {
  std::vector<GemmCommand> list = {command.gemm};
  multiply<uint32_t>(list, a.m, [](GemmCommand& c, uint32_t v) { c.config.m = v; });
  multiply<uint32_t>(list, a.n, [](GemmCommand& c, uint32_t v) { c.config.n = v; });
  multiply<uint32_t>(list, a.k, [](GemmCommand& c, uint32_t v) { c.config.k = v; });
  multiply<std::string>(list, a.dtypes, [](GemmCommand& c, const std::string& v) { c.config.dtype = v; });
  multiply<std::string>(list, a.styles, [](GemmCommand& c, const std::string& v) { c.config.style = v; });
  multiply<std::array<uint32_t, 3>>(list, a.tiles, [](GemmCommand& c, const auto& v) { c.tile = fmt::format("{}", fmt::join(v, "x")); });
  multiply<uint32_t>(list, a.stages, [](GemmCommand& c, uint32_t v) { c.stages = v; });
  multiply<std::array<uint32_t, 2>>(list, a.clusters, [](GemmCommand& c, const auto& v) { c.cluster = fmt::format("{}", fmt::join(v, "x")); });
  multiply<std::string>(list, a.swizzles, [](GemmCommand& c, const std::string& v) { c.swizzle = v; });
  multiply<std::array<uint32_t, 2>>(list, a.warps, [](GemmCommand& c, const auto& v) { c.config.warps = v; });
  multiply<uint32_t>(list, a.consumers, [](GemmCommand& c, uint32_t v) { c.config.consumers = v; });
  return list;
}

int gemm_points(const SweepCommand& command, const Axes& axes, const std::vector<SweepMachine>& machines, std::vector<SweepPoint>& out) {
  if (count_of(axes) * machines.size() > kMostPoints) return usage_error(fmt::format("more than {} points", kMostPoints));
  const std::vector<GemmCommand> list = combinations(command, axes);
  for (const SweepMachine& on : machines)
    for (const GemmCommand& each : list) {
      gemm::Config config;
      const std::string style = each.config.style.empty() ? default_style(*on.machine) : each.config.style;
      if (const int code = resolve(each, style, config, on.machine->chip.sm); code != kSuccess) return code;
      out.push_back(gemm_point(on, config));
    }
  return kSuccess;
}

/// Sizes filter the tables of measurements; nothing else of a GEMM applies to a compiled kernel.
int compiled_points(const SweepCommand& command, const Axes& axes, const std::vector<SweepMachine>& machines, std::vector<SweepPoint>& out,
                    Diagnostics& diags) {
  const std::pair<const char*, const std::string*> generated[] = {
      {"--style", &command.style},     {"--tile", &command.tile},   {"--stages", &command.stages}, {"--cluster", &command.cluster},
      {"--swizzle", &command.swizzle}, {"--dtype", &command.dtype}, {"--warps", &command.warps},   {"--consumers", &command.consumers}};
  for (const auto& [option, text] : generated)
    if (!text->empty()) return usage_error(fmt::format("{} is for generated kernels, not for a folder", option));
  const auto wanted = [](const std::vector<uint32_t>& list, int64_t value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  const std::vector<CompiledKernel> kernels = folder_kernels(command.folder, diags);
  for (const SweepMachine& on : machines)
    for (const CompiledKernel& each : kernels) {
      if (each.set != nullptr) {
        const compare::Measurement& row = each.set->rows[each.measurement];
        if (!wanted(axes.m, row.m) || !wanted(axes.n, row.n) || !wanted(axes.k, row.k)) continue;
      }
      out.push_back(compiled_point(on, each));
    }
  if (out.empty() && !diags.has_errors()) diags.error("syntax", {command.folder, 0, 0}, "no row has the sizes asked for");
  return diags.has_errors() ? kBadInput : kSuccess;
}

}  // namespace

int sweep_points(const SweepCommand& command, std::vector<SweepPoint>& out, Diagnostics& diags) {
  Axes axes;
  if (!read_axes(command, axes)) return kUsage;
  std::vector<SweepMachine> machines;
  if (const int code = read_machines(command, machines, diags); code != kSuccess) return code;
  const int code = command.folder.empty() ? gemm_points(command, axes, machines, out) : compiled_points(command, axes, machines, out, diags);
  if (code != kSuccess) return code;
  std::set<std::string> keys;
  std::erase_if(out, [&](const SweepPoint& point) { return !keys.insert(point.row.key()).second; });  // a value given twice
  for (size_t i = 0; i < out.size(); ++i) out[i].row["Problem"] = fmt::format("{}", i + 1);
  return kSuccess;
}

std::vector<SweepPoint> default_points(const SweepCommand& command, const std::vector<SweepPoint>& points, const std::vector<SweepRow>& rows) {
  std::vector<SweepPoint> out;
  for (const size_t i : winners(rows)) {
    if (points[i].compiled) continue;
    const gemm::Config& winner = points[i].config;
    GemmCommand plain = command.gemm;
    plain.config.m = winner.m, plain.config.n = winner.n, plain.config.k = winner.k;
    plain.config.dtype = winner.dtype;
    gemm::Config config;
    if (resolve(plain, winner.style, config, points[i].on.machine->chip.sm) == kSuccess) out.push_back(gemm_point(points[i].on, config));
  }
  return out;
}

}  // namespace tcsim::tool
