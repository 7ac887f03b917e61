#include "tools/launch/kernel_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace tcsim::launch {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_text(const std::string& path, Diagnostics& diags) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in) content << in.rdbuf();
  if (!in) {
    diags.error("syntax", {path, 0, 0}, fmt::format("cannot read the file: {}", std::strerror(errno ? errno : EIO)));
    return std::nullopt;
  }
  return std::move(content).str();
}

uint32_t number(const nlohmann::json& json, const char* key, uint32_t otherwise) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number_unsigned() ? at->get<uint32_t>() : otherwise;
}

/// Keys as Triton 3.x writes them: name, num_warps, shared, cluster_dims, maxnreg, num_stages, target.warp_size.
std::optional<TritonMetadata> read_triton(const std::string& path, Diagnostics& diags) {
  const auto text = read_text(path, diags);
  if (!text) return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    diags.error("syntax", {path, 0, 0}, "not a JSON object, expected Triton's metadata");
    return std::nullopt;
  }
  TritonMetadata out;
  out.path = path;
  if (json.contains("name") && json["name"].is_string()) out.entry = json["name"].get<std::string>();
  const uint32_t lanes = json.contains("target") && json["target"].is_object() ? number(json["target"], "warp_size", 32) : 32;
  out.threads = number(json, "num_warps", 0) * lanes;
  out.dynamic_smem_bytes = number(json, "shared", 0);
  out.registers = number(json, "maxnreg", 0);
  out.stages = number(json, "num_stages", 0);
  if (json.contains("cluster_dims") && json["cluster_dims"].is_array()) {
    const auto& dims = json["cluster_dims"];
    const auto at = [&](size_t i) { return i < dims.size() && dims[i].is_number_unsigned() ? dims[i].get<uint32_t>() : 1u; };
    out.cluster = {at(0), at(1), at(2)};
  }
  return out;
}

std::optional<KernelFile> read_folder(const std::string& path, Diagnostics& diags) {
  std::vector<std::string> ptx;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".ptx") ptx.push_back(entry.path().string());
  std::sort(ptx.begin(), ptx.end());
  if (error || ptx.size() != 1) {
    diags.error("syntax", {path, 0, 0},
                error ? fmt::format("cannot read the folder: {}", error.message())
                      : fmt::format("the folder holds {} .ptx files, expected exactly one (a Triton cache folder)", ptx.size()));
    return std::nullopt;
  }
  const auto text = read_text(ptx[0], diags);
  if (!text) return std::nullopt;
  KernelFile out{ptx[0], *text, std::nullopt};
  const std::string json = fs::path(ptx[0]).replace_extension(".json").string();
  if (fs::exists(json)) {
    out.triton = read_triton(json, diags);
    if (!out.triton) return std::nullopt;
  }
  return out;
}

}  // namespace

uint32_t given_registers(uint32_t option, const isa::Kernel& kernel, const TritonMetadata* triton) {
  return option ? option : kernel.maxnreg ? kernel.maxnreg : triton ? triton->registers : 0;
}

std::optional<KernelFile> read_kernel_file(const std::string& path, Diagnostics& diags) {
  std::error_code error;
  std::optional<KernelFile> out;
  if (fs::is_directory(path, error)) {
    out = read_folder(path, diags);
  } else if (auto text = read_text(path, diags)) {
    out = KernelFile{path, std::move(*text), std::nullopt};
  }
  if (!out) return std::nullopt;
  if (out->text.find_first_not_of(" \t\r\n") == std::string::npos) {
    diags.error("syntax", {out->path, 1, 1}, "the file is empty, expected PTX");
    return std::nullopt;
  }
  if (const size_t zero = out->text.find('\0'); zero != std::string::npos) {
    diags.error("syntax", {out->path, 0, 0}, fmt::format("a binary file (zero byte at offset {}), expected PTX text", zero));
    return std::nullopt;
  }
  return out;
}

}  // namespace tcsim::launch
