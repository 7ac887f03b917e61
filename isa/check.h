// TC_CHECK: a broken assumption of ours (never the user's fault). Prints where and why, then exits with 70 (EX_SOFTWARE).
//   TC_CHECK(slot < count, "slot {} of {}", slot, count);
// TC_DCHECK is the same in debug builds and costs nothing in release builds.
#pragma once
#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace tcsim {

/// A bug of ours. Thrown by TC_CHECK so that tools can add the simulation's state before they exit with 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const std::string& text) {
  throw InternalError(fmt::format("{}:{}: check failed: {}: {}", file, line, condition, text));
}

}  // namespace tcsim

#define TC_CHECK(condition, ...) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::tcsim::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)))
#ifdef NDEBUG
#define TC_DCHECK(condition, ...) static_cast<void>(0)
#else
#define TC_DCHECK(condition, ...) TC_CHECK(condition, __VA_ARGS__)
#endif
