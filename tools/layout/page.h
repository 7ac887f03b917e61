// Template of the interactive page of `tcsim layout --format html`.
#pragma once
#include <string_view>

namespace tcsim::layout {
extern const std::string_view kPage;
}
