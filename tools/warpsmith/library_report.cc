#include "library_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/display_text.h"
#include "comparison_report.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

using hgemm::LibraryTime;
using hgemm::LibraryTimes;

nlohmann::json ToJson(const hgemm::LibraryTable& table, const hgemm::BarStanding& bar) {
  nlohmann::json rows = nlohmann::json::array();
  for (const LibraryTimes& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      rows.push_back({{"m", shape.shape[0]},
                      {"n", shape.shape[1]},
                      {"k", shape.shape[2]},
                      {"name", time.name},
                      {"layout", time.layout},
                      {"dtype", table.dtype},
                      {"mode", Name(time.mode)},
                      {"us", time.us}});
      if (!time.ours) continue;
      rows.back()["ratio"] = time.ours->value;
      rows.back()["interval"] = {time.ours->interval.lo, time.ours->interval.hi};
    }
  }
  return {{"schema", "warpsmith.baselines"}, {"version", 1}, {"rows", rows}, {"bar", BarJson(bar)}};
}

void PrintTable(const hgemm::LibraryTable& table) {
  std::printf("%-20s %-20s %-6s %-12s %10s  %s\n", "shape", "what", "layout", "mode", "us",
              "over our kernel's");
  for (const LibraryTimes& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      const std::string ratio = time.ours
                                    ? fmt::format("  {:.3f} [{:.3f}, {:.3f}]", time.ours->value,
                                                  time.ours->interval.lo, time.ours->interval.hi)
                                    : "";
      const auto& [m, n, k] = shape.shape;
      std::printf("%-20s %-20s %-6s %-12s %10.3f%s\n", task::Name({m, n, k}).c_str(),
                  ForTerminal(time.name).c_str(), ForTerminal(time.layout).c_str(),
                  std::string(Name(time.mode)).c_str(), time.us, ratio.c_str());
    }
  }
}

}  // namespace

void Print(const hgemm::LibraryTable& table, bool replayed, bool json) {
  // A recording holds medians alone: what is faster than the bar cannot be told from them.
  const hgemm::BarStanding bar =
      replayed ? hgemm::BarStanding{table.shapes.size(), 0, 0, 0} : hgemm::StandingOf(table);
  if (json) {
    std::printf(
        "%s\n",
        ToJson(table, bar).dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    PrintTable(table);
    std::printf("%s\n", hgemm::Text(bar).c_str());
  }
}

Status TellDifferences(const hgemm::LibraryTable& table, const baseline::BarTable& known) {
  baseline::BarTable measured;
  for (const LibraryTimes& shape : table.shapes) {
    for (const LibraryTime& time : shape.times) {
      if (time.name == "cublaslt-auto" && time.layout == "max" && time.mode == Mode::kDeviceHot) {
        measured[shape.shape] = time.us;
      }
    }
  }
  const baseline::BarComparison comparison = TRY(baseline::CompareBars(measured, known));
  std::fprintf(stderr, "%d shapes in both; measured is %+.1f %% of the reference in the median\n",
               comparison.shapes, 100 * comparison.median_relative);
  for (const baseline::BarDifference& difference : comparison.differences) {
    std::fprintf(stderr, "  %ldx%ldx%ld: %.3f us here, %.3f us there (%+.1f %%)\n",
                 static_cast<long>(difference.shape[0]), static_cast<long>(difference.shape[1]),
                 static_cast<long>(difference.shape[2]), difference.measured_us,
                 difference.known_us, 100 * difference.relative());
  }
  return {};
}

}  // namespace warpsmith::cli
