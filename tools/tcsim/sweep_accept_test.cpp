// The sweep of the contract: 2 machines x 6 tiles x 4 stages at 1024^3, killed in the middle and started again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <chrono>
#include <thread>

#include "tools/tcsim/program.h"

namespace tcsim::tool {
namespace {

const std::vector<const char*> kArguments = {"sweep",
                                             "--arch",
                                             "h200,a100",
                                             "-m",
                                             "1024",
                                             "-n",
                                             "1024",
                                             "-k",
                                             "1024",
                                             "--style",
                                             "ampere",
                                             "--tile",
                                             "64x64x32,64x128x32,128x64x32,128x128x32,128x128x64,128x256x32",
                                             "--stages",
                                             "1:4",
                                             "--jobs",
                                             "2",
                                             "--csv",
                                             "s.csv",
                                             "--append",
                                             "--quiet"};

std::string joined() {
  std::string out;
  for (const char* argument : kArguments) out += std::string(argument) + " ";
  return out;
}

size_t lines_of(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

/// The program itself, not a shell around it, so that the signal reaches it.
pid_t start(const std::string& folder) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (chdir(folder.c_str()) != 0) _exit(126);
  std::vector<char*> argv = {const_cast<char*>("tcsim")};
  for (const char* argument : kArguments) argv.push_back(const_cast<char*>(argument));
  argv.push_back(nullptr);
  execv(TCSIM_PROGRAM, argv.data());
  _exit(127);
}

TEST(SweepAcceptance, KilledAndStartedAgain) {
  const auto begin = std::chrono::steady_clock::now();
  Sandbox box;
  const pid_t child = start(box.path("."));
  ASSERT_GT(child, 0);
  int status = 0;
  // Killed when a third of the points are there.
  while (lines_of(box.read("s.csv")) < 17 && waitpid(child, &status, WNOHANG) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  const std::string before = box.read("s.csv");
  const std::string whole = before.substr(0, before.rfind('\n') + 1);
  EXPECT_GE(lines_of(whole), 17u);
  EXPECT_LT(lines_of(whole), 49u);

  const Outcome again = box.run(joined());
  EXPECT_EQ(again.code, 0) << again.err;
  const std::string after = box.read("s.csv");
  EXPECT_TRUE(after.starts_with(whole));  // what was there is neither lost nor repeated
  EXPECT_EQ(lines_of(after), 49u);        // the head and 48 points
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("48 points, killed and started again: %.0f s\n", seconds);
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace tcsim::tool
