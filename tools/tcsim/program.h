// For tests: runs the built program in a folder of its own and keeps what it said.
#pragma once
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tcsim::tool {

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// A temporary folder with files, and the program in it.
class Sandbox {
 public:
  Sandbox() {
    std::string name = (std::filesystem::temp_directory_path() / "tcsim-test-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    folder_ = name;
  }
  ~Sandbox() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  std::string path(const std::string& file) const { return (folder_ / file).string(); }
  void write(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file, std::ios::binary) << content;
  }
  std::string read(const std::string& file) const {
    std::ifstream in(folder_ / file, std::ios::binary);
    std::ostringstream content;
    content << in.rdbuf();
    return std::move(content).str();
  }
  bool has(const std::string& file) const { return std::filesystem::exists(folder_ / file); }
  size_t file_count() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }

  /// arguments are shell words; the working folder is the sandbox.
  Outcome run(const std::string& arguments) const {
    const std::filesystem::path logs = folder_.string() + "-logs";
    std::filesystem::create_directories(logs);
    const std::string command = fmt::format("cd '{}' && '{}' {} >'{}' 2>'{}' </dev/null", folder_.string(), TCSIM_PROGRAM, arguments,
                                            (logs / "out").string(), (logs / "err").string());
    const int status = std::system(command.c_str());
    Outcome result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    const auto slurp = [](const std::filesystem::path& file) {
      std::ifstream in(file, std::ios::binary);
      std::ostringstream content;
      content << in.rdbuf();
      return std::move(content).str();
    };
    result.out = slurp(logs / "out");
    result.err = slurp(logs / "err");
    std::filesystem::remove_all(logs);
    return result;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tcsim::tool
