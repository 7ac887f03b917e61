// Lines of the user's source files (.cu, .py) that a kernel's .file and .loc directives name, where the files are still there.
#pragma once
#include <map>
#include <span>
#include <string>

#include "isa/ptx/module.h"
#include "sim/report/report.h"

namespace tcsim::tool {

/// "gemm.py:31" (ReportInstruction::source) -> text. Looked for under the name that the module gives, then beside the kernel.
std::map<std::string, std::string> read_source_lines(const isa::Module& module, std::span<const sim::Report> reports);

}  // namespace tcsim::tool
