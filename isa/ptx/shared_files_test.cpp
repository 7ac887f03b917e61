// Every .ptx file below the folder that TCSIM_SHARED names: no syntax errors, and print(load(x)) is a fixed point.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "isa/ptx/module.h"

namespace tcsim::isa {
namespace {

TEST(SharedFiles, LoadWithoutSyntaxErrors) {
  const char* root = std::getenv("TCSIM_SHARED");
  ASSERT_NE(root, nullptr) << "set TCSIM_SHARED to a folder with .ptx files";
  int files = 0, executable = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".ptx") continue;
    ++files;
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    Diagnostics diags;
    const auto module = load_module(entry.path().filename().string(), text.str(), diags);
    for (const Diagnostic& d : diags.all()) EXPECT_EQ(d.kind, "unsupported-instruction") << d.str();
    if (diags.has_errors()) continue;
    ++executable;
    Diagnostics again;
    const std::string printed = print(*module);
    EXPECT_EQ(print(*load_module("printed.ptx", printed, again)), printed);
    EXPECT_FALSE(again.has_errors());
  }
  EXPECT_GT(files, 0);
  RecordProperty("files", files);
  RecordProperty("executable", executable);
}

}  // namespace
}  // namespace tcsim::isa
