#include "tools/tcsim/run_kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/exec/interpreter.h"
#include "isa/ptx/load.h"
#include "sim/gpu/arithmetic_notes.h"
#include "sim/gpu/occupancy.h"
#include "sim/gpu/target_check.h"
#include "sim/report/html/page.h"
#include "sim/report/writers.h"
#include "tools/launch/check.h"
#include "tools/launch/document.h"
#include "tools/launch/npy.h"
#include "tools/tcsim/output.h"
#include "tools/tcsim/shared_budget.h"
#include "tools/tcsim/source_lines.h"
#include "tools/tcsim/timed_run.h"
#include "workloads/common/dtype.h"

namespace tcsim::tool {
namespace {

std::pair<std::string, std::string> split(const std::string& text) {
  const size_t at = text.find('=');
  return at == std::string::npos ? std::pair{text, std::string()} : std::pair{text.substr(0, at), text.substr(at + 1)};
}

/// Of a timeline that is only for the page: more than it holds, so that the page says where it ends.
constexpr size_t kPageEvents = 30'000;

/// One run, from parsed inputs to reports.
class Run {
 public:
  Run(const RunOptions& options, const RunInput& input, const Invocation& invocation) : options_(options), input_(input), invocation_(invocation) {}

  int execute() {
    const bool ready = load();
    if (options_.budget) tell_budgets();
    else if (ready) simulate();
    finish();
    print_diagnostics(diags_, options_.quiet);
    return exit_code(diags_, options_.strict);
  }

  /// Of all launches.
  double cycles() const {
    double sum = 0;
    for (const sim::Report& report : reports_) sum += static_cast<double>(report.cycles);
    return sum;
  }

 private:
  bool wants_timeline() const { return !functional() && (!options_.timeline.empty() || !options_.html.empty()); }
  bool functional() const { return options_.mode == "functional"; }
  const launch::TritonMetadata* triton() const { return input_.kernel.triton ? &*input_.kernel.triton : nullptr; }

  /// Everything that can be wrong before the run, in one go.
  bool load() {
    machine_ = load_machine(options_, diags_);
    file_ = launch::parse_launch_file(input_.launch_path, input_.launch_text, diags_);
    const auto kernels = file_ ? launch::kernel_names(*file_, options_.entry) : std::vector<std::string>{};
    module_ = isa::load_kernels(input_.kernel.path, input_.kernel.text, diags_, kernels);
    for (const std::string* path : {&options_.json, &options_.ncu_csv, &options_.html, &options_.timeline}) check_writable(*path, diags_);
    if (file_ && !diags_.has_errors()) {
      launch::validate_check(*file_, diags_);
      check_dumps();
    }
    if (!module_ || !file_ || diags_.has_errors()) return false;
    if (!sim::check_target(*module_, *machine_, diags_)) return false;
    const launch::PrepareOptions prepare{options_.seed, options_.entry, triton()};
    if (!launch::prepare(*file_, *module_, prepare, work_, diags_)) return false;
    check_timeline();
    for (const launch::BoundLaunch& bound : work_.launches) {
      occupancy_.push_back(sim::compute_occupancy(*bound.kernel, bound.info, registers(*bound.kernel), *machine_, bound.smem_place, diags_));
      tell_budget(bound);
    }
    if (options_.mode != "timing") {
      std::set<const isa::Kernel*> kernels;
      for (const launch::BoundLaunch& bound : work_.launches)
        if (kernels.insert(bound.kernel).second) sim::note_arithmetic(*module_, *bound.kernel, *machine_, diags_);
    }
    return !diags_.has_errors();
  }

  /// --regs, .maxnreg, Triton's metadata; 0: the liveness estimate (architecture.md, "From PTX text to
  /// retired").
  uint32_t given_registers(const isa::Kernel& kernel) const { return launch::given_registers(options_.registers, kernel, triton()); }
  uint32_t registers(const isa::Kernel& kernel) const { return std::max(1u, given_registers(kernel)); }

  SharedBudget budget_of(const launch::BoundLaunch& bound) {
    Diagnostics told;  // by the generator before
    return input_.gemm ? gemm_budget(*input_.gemm, *machine_, told)
                       : kernel_budget(*module_, *bound.kernel, bound.info.dynamic_smem_bytes, triton(), *machine_);
  }

  /// What does not fit is told with its error.
  void tell_budget(const launch::BoundLaunch& bound) {
    const bool fits = sim::shared_bytes(*bound.kernel, bound.info.dynamic_smem_bytes) <= machine_->limits.smem_per_cta_bytes;
    if (fits && !options_.budget) return;
    budgets_.push_back(budget_of(bound));
    if (options_.budget) return;
    std::string text = budget_text(budgets_.back());
    diags_.note("too-many-resources", bound.smem_place, text.substr(0, text.find_last_not_of('\n') + 1));
  }

  void tell_budgets() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const SharedBudget& budget : budgets_) list.push_back(budget_json(budget));
    if (!options_.json.empty() && !list.empty()) write_file(options_.json, (list.size() == 1 ? list[0] : list).dump(2) + "\n", diags_);
    if (options_.quiet || options_.json == "-") return;
    for (const SharedBudget& budget : budgets_) fmt::print("{}", budget_text(budget));
    std::fflush(stdout);
  }

  void check_dumps() {
    std::vector<std::string> names;
    for (const launch::BufferSpec& buffer : file_->buffers) names.push_back(buffer.name);
    for (const std::string& dump : options_.dump) {
      const auto [name, path] = split(dump);
      if (!file_->find_buffer(name))
        diags_.error("launch-mismatch", {"--dump", 0, 0}, fmt::format("there is no buffer '{}'{}", name, launch::suggestion(name, names)));
      check_writable(path, diags_);
    }
  }

  void check_timeline() {
    uint64_t ctas = 0;
    for (const launch::BoundLaunch& bound : work_.launches) ctas = std::max(ctas, bound.info.grid.count());
    for (const uint64_t cta : options_.timeline_ctas)
      if (cta >= ctas) diags_.error("launch-mismatch", {"--timeline-ctas", 0, 0}, fmt::format("there is no CTA {}: the grid has {}", cta, ctas));
    timeline_.options.ctas = options_.timeline_ctas;
    if (!options_.timeline.empty()) return;
    timeline_.options.max_events = kPageEvents;
    timeline_.tell_end = false;
  }

  void simulate() {
    ProgressLine progress(!options_.quiet);
    for (size_t i = 0; i < work_.launches.size() && !diags_.has_errors(); ++i) {
      const launch::BoundLaunch& bound = work_.launches[i];
      if (functional()) run_functional(bound, occupancy_[i], progress);
      else
        reports_.push_back(run_timed(*module_, bound, work_.memory, *machine_, timed_options(*bound.kernel), progress, diags_,
                                     wants_timeline() ? &timeline_ : nullptr));
    }
    progress.clear();
    ran_ = !diags_.has_errors();
    if (ran_ && options_.mode != "timing") check_ = launch::run_check(*file_, options_.seed, work_, diags_);
  }

  sim::SimOptions timed_options(const isa::Kernel& kernel) const {
    sim::SimOptions out;
    out.mode = options_.mode == "timing" ? sim::Mode::timing : sim::Mode::full;
    out.threads = options_.threads;
    out.registers = given_registers(kernel);
    return out;
  }

  void run_functional(const launch::BoundLaunch& bound, const sim::Occupancy& occupancy, ProgressLine& progress) {
    isa::InterpreterOptions options;
    options.order = options_.async == "late" ? isa::AsyncOrder::late : options_.async == "random" ? isa::AsyncOrder::random : isa::AsyncOrder::eager;
    options.seed = options_.seed;
    // As many as the chip holds: CTAs that wait for each other make progress exactly when they would there.
    options.resident_ctas = static_cast<uint32_t>(std::min<uint64_t>(bound.info.grid.count(), uint64_t{occupancy.ctas_per_sm} * machine_->chip.sms));
    options.progress = [&](uint64_t done, uint64_t total) { progress.update(0, 0, done, total); };
    const auto start = std::chrono::steady_clock::now();
    isa::LaunchInfo info = bound.info;
    info.generation = sim::generation_of(*machine_);
    const isa::InterpreterResult result = isa::interpret(*module_, *bound.kernel, info, work_.memory, options, diags_);
    sim::Report report = describe_launch(*module_, bound, *machine_, occupancy);
    report.mode = options_.mode;
    report.simulated_warp_instructions = result.warp_instructions;
    report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    reports_.push_back(std::move(report));
  }

  void finish() {
    if (reports_.empty()) return;
    if (ran_) write_dumps();
    for (sim::Report& report : reports_) {
      report.command = invocation_.command;
      report.version = TCSIM_VERSION;
      report.diagnostics = diags_.all();
    }
    if (check_) {
      sim::ReportCheck check;
      check.passed = check_->passed;
      check.max_abs = check_->max_abs;
      check.max_ulp = check_->max_ulp;
      check.rel_l2 = check_->rel_l2;
      check.elements = check_->elements;
      check.failures = check_->failures;
      if (!check_->passed) check.first_failure = check_->text;
      reports_.back().check = check;
    }
    if (!options_.json.empty()) write_file(options_.json, json_text(), diags_);
    // Of a failed run too: it shows how a deadlock came about.
    if (!options_.timeline.empty()) write_file(options_.timeline, timeline_.timeline.json(), diags_);
    if (!options_.ncu_csv.empty()) write_file(options_.ncu_csv, sim::write_ncu_csv(reports_), diags_);
    if (!options_.html.empty()) write_file(options_.html, page_text(), diags_);
    const auto outputs = {&options_.json, &options_.ncu_csv, &options_.timeline, &options_.html};
    if (options_.quiet || !ran_ || std::any_of(outputs.begin(), outputs.end(), [](const std::string* path) { return *path == "-"; })) return;
    for (const sim::Report& report : reports_) fmt::print("{}", sim::write_text(report, {.colour = isatty(STDOUT_FILENO) != 0}));
    std::fflush(stdout);
  }

  /// One launch: its report. Several: a JSON array in launch order.
  std::string json_text() const {
    if (reports_.size() == 1) return sim::write_json(reports_[0]);
    std::string text = "[\n";
    for (size_t i = 0; i < reports_.size(); ++i) {
      if (i > 0) text += ",\n";
      text += sim::write_json(reports_[i]);
    }
    text += "]\n";
    return text;
  }

  std::string page_text() const {
    sim::RunPage page;
    page.reports = reports_;
    page.machine = &*machine_;
    if (wants_timeline()) page.timeline = timeline_.timeline.json();
    page.source_lines = read_source_lines(*module_, reports_);
    return sim::write_run_page(page);
  }

  void write_dumps() {
    for (const std::string& dump : options_.dump) {
      const auto [name, path] = split(dump);
      const launch::BufferSpec& buffer = *file_->find_buffer(name);
      const auto* bytes = reinterpret_cast<const char*>(work_.memory.map(work_.address.at(name), buffer.bytes()));
      std::string content(bytes, buffer.bytes());
      if (path.ends_with(".npy")) content = launch::npy_header(buffer.dtype, npy_shape(buffer)) + content;
      write_file(path, content, diags_);
    }
  }

  /// The shape; a padded buffer is dumped with its padding, as rows of its stride or as one dimension.
  static std::vector<int64_t> npy_shape(const launch::BufferSpec& buffer) {
    int64_t dense = 1;
    for (size_t i = buffer.shape.size(); i-- > 0; dense *= buffer.shape[i])
      if (buffer.strides[i] != dense) return {static_cast<int64_t>(buffer.bytes() * 8 / static_cast<uint64_t>(wl::storage_bits(buffer.dtype)))};
    return buffer.shape;
  }

  const RunOptions& options_;
  const RunInput& input_;
  const Invocation& invocation_;
  Diagnostics diags_;
  std::optional<cfg::Machine> machine_;
  std::unique_ptr<isa::Module> module_;
  std::optional<launch::LaunchFile> file_;
  launch::Workspace work_;
  std::vector<sim::Occupancy> occupancy_;
  std::vector<SharedBudget> budgets_;  // that are to be told
  std::vector<sim::Report> reports_;
  TimelineRequest timeline_;
  std::optional<launch::CheckOutcome> check_;
  bool ran_ = false;
};

}  // namespace

int check_usage(const RunOptions& o) {
  if (!o.record.empty()) return not_in_this_release("--record");
  if (o.warm) return not_in_this_release("--warm");
  if (!o.async.empty() && o.mode != "functional") return usage_error("--async is for --mode functional");
  if (o.mode == "functional" && !o.ncu_csv.empty()) return usage_error("--ncu-csv needs a mode with time: full or timing");
  if (o.mode == "functional" && !o.timeline.empty()) return usage_error("--timeline needs a mode with time: full or timing");
  if (o.timeline.empty() && o.html.empty() && !o.timeline_ctas.empty()) return usage_error("--timeline-ctas needs --timeline or --html");
  for (const std::string& text : o.set)
    if (split(text).first.find('.') == std::string::npos || text.find('=') == std::string::npos)
      return usage_error(fmt::format("--set '{}', expected SECTION.KEY=VALUE", text));
  for (const std::string& text : o.dump) {
    if (split(text).first.empty() || split(text).second.empty()) return usage_error(fmt::format("--dump '{}', expected BUFFER=FILE", text));
    if (o.mode == "timing") return usage_error("--dump needs a mode with values: full or functional");
  }
  return kSuccess;
}

std::optional<cfg::Machine> load_machine(const RunOptions& options, Diagnostics& diags) {
  std::vector<std::pair<std::string, std::string>> set;
  for (const std::string& text : options.set) set.push_back(split(text));
  return cfg::load_machine(options.arch, set, diags);
}

int run_and_report(const RunOptions& options, const RunInput& input, const Invocation& invocation, double* cycles) {
  Run run(options, input, invocation);
  const int code = run.execute();
  if (cycles != nullptr) *cycles = run.cycles();
  return code;
}

}  // namespace tcsim::tool
