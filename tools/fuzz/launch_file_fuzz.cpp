// Launch files of any bytes: errors, never a crash. Buffers are not allocated; their first elements are
// computed.
#include <cstddef>
#include <cstdint>

#include "tools/launch/check.h"
#include "tools/launch/init.h"
#include "tools/launch/launch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tcsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("file:") != std::string_view::npos) return 0;  // reads no files of the host
  Diagnostics diags;
  const auto file = launch::parse_launch_file("fuzz.toml", text, diags);
  if (!file || diags.has_errors()) return 0;
  launch::validate_check(*file, diags);
  for (const launch::BufferSpec& buffer : file->buffers)
    if (buffer.init != launch::Init::file && buffer.init != launch::Init::poison)
      for (uint64_t i = 0; i < 4; ++i) launch::initial_bits(buffer.init, buffer.dtype, 1, i);
  return 0;
}
