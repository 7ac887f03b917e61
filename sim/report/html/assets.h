// The static parts of a page, made by CMake from app/ and third_party/.
#pragma once
#include <string_view>

namespace tcsim::sim::html {

extern const std::string_view kStyle, kApp, kEcharts;

}  // namespace tcsim::sim::html
