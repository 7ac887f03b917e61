// The kernels of validation/data/mma_bits, which ran on an H200, run here as PTX from load to store: every stored bit is equal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "isa/exec/interpreter.h"

namespace tcsim::isa {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(HardwareKernels, GiveTheBitsOfTheH200) {
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TCSIM_SOURCE_DIR "/validation/data/mma_bits")) {
    if (!entry.is_directory()) continue;
    ++folders;
    SCOPED_TRACE(entry.path().filename().string());
    Diagnostics diags;
    const auto module = load_module((entry.path() / "kernel.ptx").string(), read(entry.path() / "kernel.ptx"), diags);
    ASSERT_TRUE(module && !diags.has_errors()) << (diags.all().empty() ? "" : diags.all()[0].str());
    const Kernel& kernel = module->kernels[0];
    GlobalMemory memory;
    bind_globals(*module, memory);
    LaunchInfo launch;
    launch.grid = {64, 1, 1};
    launch.block = {entry.path().filename().string().starts_with("wgmma_") ? 128u : 32u, 1, 1};
    launch.generation = static_cast<uint8_t>(Generation::hopper);
    launch.params.resize(kernel.param_bytes);
    const std::string want = read(entry.path() / "d.bin");
    uint64_t address = 0;
    const char* names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < 4; ++i) {
      const std::string bytes = read(entry.path() / fmt::format("{}.bin", names[i]));
      address = memory.allocate(names[i], bytes.size(), 256, i == 3);
      if (i < 3) std::memcpy(memory.map(address, bytes.size()), bytes.data(), bytes.size());
      std::memcpy(launch.params.data() + kernel.params[i].offset, &address, 8);
    }
    const InterpreterResult result = interpret(*module, kernel, launch, memory, {}, diags);
    ASSERT_TRUE(result.ok) << diags.all()[0].str();
    EXPECT_TRUE(diags.all().empty());
    EXPECT_EQ(std::memcmp(memory.map(address, want.size()), want.data(), want.size()), 0);
  }
  EXPECT_EQ(folders, 23);
}

}  // namespace
}  // namespace tcsim::isa
