#include "sim/report/html/compact_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace tcsim::sim::html {
namespace {

using Json = nlohmann::ordered_json;

/// Texts (or objects) by index, each once.
class Dictionary {
 public:
  size_t of(const Json& value) {
    const auto [it, is_new] = index_.emplace(value.dump(), list_.size());
    if (is_new) list_.push_back(value);
    return it->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, size_t> index_;
  Json list_ = Json::array();
};

int64_t cycle(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }  // perfetto.h: 1 ns is a cycle

class Compactor {
 public:
  Compactor(const Json& events, size_t max_bytes) : events_(events), max_bytes_(max_bytes) {}

  Json compact() {
    name_tracks();
    const int64_t end = find_end();
    for (const Json& e : events_) {
      if (e["ph"] == "X" && cycle(e["ts"]) < end) add_slice(e);
      if (e["ph"] == "s") begins_[e["id"].get<uint64_t>()] = &e;
      if (e["ph"] == "f" && cycle(e["ts"]) < end) add_flow(*begins_.at(e["id"].get<uint64_t>()), e);
    }
    Json out = {{"processes", processes_}, {"tracks", tracks_}, {"names", names_.list()}, {"args", args_.list()}};
    out["slices"] = std::move(slices_);
    out["flows"] = std::move(flows_);
    out["end"] = end == kNoEnd ? Json(nullptr) : Json(end);
    return out;
  }

 private:
  using Track = std::pair<uint64_t, uint32_t>;  // process, thread
  static constexpr int64_t kNoEnd = INT64_MAX;
  // Numbers of a slice and its part of the flows; measured on pages, and only the budget depends on it.
  static constexpr size_t kSliceBytes = 40;

  static Track track_of(const Json& e) { return {e["pid"].get<uint64_t>(), e["tid"].get<uint32_t>()}; }

  void name_tracks() {
    std::map<uint64_t, std::string> processes;
    std::map<Track, std::string> tracks;
    for (const Json& e : events_) {
      if (e["ph"] != "M") continue;
      if (e["name"] == "process_name") processes[e["pid"].get<uint64_t>()] = e["args"]["name"].get<std::string>();
      if (e["name"] == "thread_name") tracks[track_of(e)] = e["args"]["name"].get<std::string>();
    }
    std::map<uint64_t, size_t> number;
    for (const auto& [pid, name] : processes) {
      number[pid] = processes_.size();
      processes_.push_back(name);
    }
    for (const auto& [track, name] : tracks) {
      index_[track] = tracks_.size();
      tracks_.push_back({{"process", number[track.first]}, {"name", name}});
    }
  }

  /// The first cycle that does not fit.
  int64_t find_end() const {
    std::vector<std::pair<int64_t, size_t>> sizes;
    size_t all = 0;
    for (const Json& e : events_) {
      if (e["ph"] != "X") continue;
      sizes.emplace_back(cycle(e["ts"]), kSliceBytes + e["args"].dump().size());
      all += sizes.back().second;
    }
    if (all <= max_bytes_) return kNoEnd;
    std::sort(sizes.begin(), sizes.end());
    size_t taken = 0;
    for (const auto& [at, size] : sizes)
      if ((taken += size) > max_bytes_) return at;
    return kNoEnd;
  }

  void add_slice(const Json& e) {
    for (const auto value : {static_cast<int64_t>(index_.at(track_of(e))), cycle(e["ts"]), cycle(e["dur"])}) slices_.push_back(value);
    for (const size_t value : {names_.of(e["name"]), names_.of(e["cat"]), args_.of(e["args"])}) slices_.push_back(value);
  }

  void add_flow(const Json& from, const Json& to) {
    for (const Json* e : {&from, &to}) {
      flows_.push_back(index_.at(track_of(*e)));
      flows_.push_back(cycle((*e)["ts"]));
    }
    flows_.push_back(names_.of(from["name"]));
  }

  const Json& events_;
  size_t max_bytes_;
  Json processes_ = Json::array(), tracks_ = Json::array(), slices_ = Json::array(), flows_ = Json::array();
  std::map<Track, size_t> index_;
  std::map<uint64_t, const Json*> begins_;
  Dictionary names_, args_;
};

}  // namespace

Json compact_timeline(const std::string& trace_events, size_t max_bytes) {
  const Json trace = Json::parse(trace_events);
  return Compactor(trace["traceEvents"], max_bytes).compact();
}

}  // namespace tcsim::sim::html
