#include "sim/report/html/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "sim/report/html/assets.h"
#include "sim/report/html/compact_timeline.h"
#include "sim/report/writers.h"

namespace tcsim::sim {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMostBytes = 3'000'000;

Report report_of(size_t instructions) {
  Report r;
  r.version = "0.1.0";
  r.command = {"tcsim", "run", "k.ptx"};
  r.arch = {.name = "h200", .description = "a machine", .sm = 90, .sms = 132, .clock_mhz = 2000};
  r.kernel = "kernel</script><i>x";
  r.cycles = 1000;
  r.roofline = {.flops = 1e9,
                .peak_flops_per_cycle = 1e6,
                .peak_name = "FFMA",
                .dram_bytes_per_cycle = 2000,
                .l2_bytes_per_cycle = 6000,
                .dram_bytes = 1e6,
                .l2_bytes = 1e7};
  for (size_t i = 0; i < instructions; ++i) {
    ReportInstruction inst;
    inst.index = static_cast<uint32_t>(i);
    inst.text = fmt::format("add.u32 %r{}, %r{}, 1 // {}", i, i, std::string(300, 'x'));
    inst.place = fmt::format("k.ptx:{}", i);
    inst.executed = 1;
    inst.stalls[static_cast<size_t>(StallReason::wait)] = i;
    r.instructions.push_back(inst);
  }
  return r;
}

/// A trace of `slices` waits, one after the other, each with text of its own.
std::string trace_of(size_t slices) {
  Json events = Json::array();
  events.push_back({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", "CTA 0"}}}});
  events.push_back({{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", "thread_name"}, {"args", {{"name", "warp 0"}}}});
  events.push_back({{"ph", "M"}, {"pid", 1}, {"tid", 1000}, {"name", "thread_name"}, {"args", {{"name", "TMA 0"}}}});
  events.push_back(
      {{"ph", "X"}, {"pid", 1}, {"tid", 1000}, {"ts", 0.001}, {"dur", 0.005}, {"name", "load"}, {"cat", "tma"}, {"args", {{"bytes", 64}}}});
  for (size_t i = 0; i < slices; ++i)
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", 0.001 * static_cast<double>(10 * i)},
                      {"dur", 0.01},
                      {"name", "wait"},
                      {"cat", "wait"},
                      {"args", {{"reason", "wait"}, {"next", fmt::format("instruction {} {}", i, std::string(100, 'y'))}}}});
  events.push_back({{"ph", "s"}, {"pid", 1}, {"tid", 1000}, {"ts", 0.005}, {"id", 7}, {"name", "landed"}, {"cat", "flow"}});
  events.push_back({{"ph", "f"}, {"pid", 1}, {"tid", 1}, {"ts", 0.006}, {"id", 7}, {"name", "landed"}, {"cat", "flow"}});
  return Json{{"traceEvents", events}}.dump();
}

Json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

SweepPage sweep() {
  SweepPage page;
  page.title = "GEMM 1024";
  page.columns = {"tile", "stages", "cycles"};
  page.rows = {{"128x128x32", "3", "21655"}};
  return page;
}

TEST(RunPage, CarriesTheJsonReport) {
  const Report report = report_of(3);
  const Json data = data_of(write_run_page({.reports = {&report, 1}, .timeline = trace_of(1), .source_lines = {{"a.py:1", "x = 1"}}}));
  Json want = Json::parse(write_json(report));
  EXPECT_EQ(data["reports"][0]["instructions"][0]["text"].get<std::string>().size(), 200u + 4);  // shortened, " ..."
  for (size_t i = 0; i < 3; ++i) want["instructions"][i]["text"] = data["reports"][0]["instructions"][i]["text"];
  EXPECT_EQ(data["reports"][0], want);
  EXPECT_EQ(data["kind"], "run");
  EXPECT_EQ(data["source_lines"]["a.py:1"], "x = 1");
  EXPECT_EQ(data["reasons"].size(), kStallReasons);
}

TEST(RunPage, MachineValuesHaveSources) {
  Diagnostics diags;
  const auto machine = cfg::load_machine("h200", {}, diags);
  ASSERT_TRUE(machine);
  const Report report = report_of(1);
  const Json values = data_of(write_run_page({.reports = {&report, 1}, .machine = &*machine}))["machine"]["values"];
  EXPECT_EQ(values.size(), machine->provenance.size());
  size_t assumed = 0;
  for (const Json& v : values) {
    EXPECT_FALSE(v["source"].get<std::string>().empty()) << v;
    assumed += v["assumed"].get<bool>();
  }
  EXPECT_EQ(assumed, machine->assumed_values);
}

// The user's texts cannot end a script or the title: three scripts open, three end.
TEST(RunPage, TextsCannotBreakOut) {
  const Report report = report_of(1);
  const std::string page = write_run_page({.reports = {&report, 1}});
  const auto occurrences = [&](const std::string& text) {
    size_t n = 0;
    for (size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(occurrences("<script"), 3u);
  EXPECT_EQ(occurrences("</script>"), 3u);
  EXPECT_EQ(page.find("<i>x"), std::string::npos);
  EXPECT_EQ(data_of(page)["reports"][0]["kernel"], "kernel</script><i>x");
}

TEST(Pages, AskNothingOfTheNetwork) {
  const Report report = report_of(2);
  for (const std::string& page : {write_run_page({.reports = {&report, 1}}), write_sweep_page(sweep())}) {
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
    // The library's licence and XML names are no resources; all else has no address at all.
    std::string own = page;
    own.erase(own.find(html::kEcharts), html::kEcharts.size());
    EXPECT_EQ(own.find("http://"), std::string::npos);
    EXPECT_EQ(own.find("https://"), std::string::npos);
    for (const char* word : {"@import", "url(", "import(", "fetch(", "XMLHttpRequest", "<link rel=\"stylesheet", " src="})
      EXPECT_EQ(own.find(word), std::string::npos) << word;
  }
}

TEST(Pages, StayUnderThreeMegabytes) {
  const std::vector<Report> reports(2, report_of(6'000));
  const std::string page = write_run_page({.reports = reports, .timeline = trace_of(10'000)});
  EXPECT_LT(page.size(), kMostBytes);
  const Json data = data_of(page);
  for (const Json& report : data["reports"]) {
    const size_t kept = report["instructions"].size();
    EXPECT_EQ(report["instructions_left_out"].get<size_t>() + kept, 6'000u);
    EXPECT_EQ(report["instructions"].back()["index"], 5'999);  // cost is the index: the costliest stay, in order
    EXPECT_EQ(report["instructions"].front()["index"], 6'000 - kept);
  }
  EXPECT_FALSE(data["timeline"]["end"].is_null());
}

TEST(CompactTimeline, KeepsSlicesAndArrows) {
  const Json t = html::compact_timeline(trace_of(2), 1'000'000);
  EXPECT_EQ(t["processes"], Json::parse(R"(["CTA 0"])"));
  EXPECT_EQ(t["tracks"], Json::parse(R"([{"process":0,"name":"warp 0"},{"process":0,"name":"TMA 0"}])"));
  // The load: track 1, from cycle 1, 5 cycles. Then the waits: track 0, from cycles 0 and 10, 10 cycles each.
  EXPECT_EQ(t["slices"], Json::parse("[1,1,5,0,1,0, 0,0,10,2,2,1, 0,10,10,2,2,2]"));
  EXPECT_EQ(t["names"], Json::parse(R"(["load","tma","wait","landed"])"));
  EXPECT_EQ(t["args"].size(), 3u);
  EXPECT_EQ(t["flows"], Json::parse("[1,5,0,6,3]"));
  EXPECT_TRUE(t["end"].is_null());
}

TEST(CompactTimeline, EndsWhereTheRoomDoes) {
  const Json t = html::compact_timeline(trace_of(1000), 10'000);
  const int64_t end = t["end"].get<int64_t>();
  EXPECT_GT(end, 0);
  for (size_t i = 0; i < t["slices"].size(); i += 6) EXPECT_LT(t["slices"][i + 1].get<int64_t>(), end);
  EXPECT_LT(t.dump().size(), 12'000u);
}

TEST(SweepPage, CarriesTheRows) {
  const Json data = data_of(write_sweep_page(sweep()));
  EXPECT_EQ(data["kind"], "sweep");
  EXPECT_EQ(data["sweep"]["rows"], Json::parse(R"([["128x128x32","3","21655"]])"));
  EXPECT_EQ(data["sweep"]["roles"]["tile"], "tile");
  // Each role has its column's name, and the table its columns: sweep.js reads them all.
  for (const char* role : {"tile", "stages", "cycles", "time", "bound", "stalls", "reason"})
    EXPECT_TRUE(data["sweep"]["roles"][role].is_string()) << role;
  for (const char* list : {"parameters", "shown"}) EXPECT_TRUE(data["sweep"]["roles"][list].is_array()) << list;
}

}  // namespace
}  // namespace tcsim::sim
