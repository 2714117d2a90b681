#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/display_text.h"
#include "commands.h"
#include "core/serialize.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/options.h"
#include "search.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

// The catalogue's row of the shape, of any device; nullopt: it has none.
Result<std::optional<hgemm::CatalogueRow>> CatalogueRowOf(const ShowOptions& options,
                                                          const task::HgemmShape& shape) {
  std::optional<hgemm::Catalogue> catalogue;
  if (options.catalogue.empty()) {
    catalogue = TRY(hgemm::ShippedCatalogue());
  } else {
    catalogue = TRY(hgemm::ReadCatalogue(options.catalogue));
  }
  if (!catalogue) return std::optional<hgemm::CatalogueRow>();
  const hgemm::CatalogueRow* row = hgemm::Find(
      *catalogue, search::ProblemOf(hgemm::TaskOf(options.product), task::HgemmWorkload(shape)));
  return row == nullptr ? std::optional<hgemm::CatalogueRow>() : std::optional(*row);
}

nlohmann::json ToJson(const hgemm::CatalogueRow& row) {
  nlohmann::json results = nlohmann::json::array();
  for (const hgemm::CatalogueResult& result : row.results) {
    results.push_back({{"mode", Name(result.mode)},
                       {"baseline", result.baseline},
                       {"kernel_us", result.kernel_us},
                       {"baseline_us", result.baseline_us},
                       {"ratio", result.ratio},
                       {"low", result.interval.lo},
                       {"high", result.interval.hi}});
  }
  return {{"choice", Name(row.choice)}, {"point", warpsmith::ToJson(row.kernel)},
          {"candidate", row.candidate}, {"plan", row.plan_id},
          {"artifact", row.artifact},   {"results", results},
          {"device", row.device},       {"driver", row.driver},
          {"toolkit", row.toolkit},     {"library", row.library},
          {"level", row.level},         {"date", row.date}};
}

void PrintSpace(const std::string& space, const std::vector<hgemm::KnownPoint>& rows,
                const std::optional<hgemm::CatalogueRow>& chosen) {
  nlohmann::json list = nlohmann::json::array();
  for (const hgemm::KnownPoint& row : rows) {
    nlohmann::json entry = {{"point", warpsmith::ToJson(row.point)},
                            {"predicted_us", row.predicted_us},
                            {"outcome", row.outcome}};
    if (row.measured_us) entry["measured_us"] = *row.measured_us;
    if (row.ratio) entry["ratio"] = *row.ratio;
    list.push_back(std::move(entry));
  }
  nlohmann::json document = {{"space", space}, {"points", list}};
  if (chosen) document["catalogue"] = ToJson(*chosen);
  PrintDocument("space", std::move(document));
}

Result<int> ListSpaces(search::Machine& machine, bool json) {
  if (machine.recorded() == nullptr) {
    return Error{ErrorCode::kUsage, "no shape was given, and a GPU has a space for every shape",
                 "write one, as in 512x4096x1024, or list a recording with --device recorded"};
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const store::ReplaySpace& space : machine.recorded()->Spaces()) {
    rows.push_back({{"space", space.space.name()},
                    {"shape", space.workload.name},
                    {"layout", task::LayoutOf(space.task)},
                    {"dtype", Name(task::DTypeOf(space.task))},
                    {"configurations", space.space.size()},
                    {"verdicts", space.verdicts}});
    if (!json) {
      std::printf("%-20s %-4s %-4s %6zu configurations, %6ld verdicts\n",
                  space.workload.name.c_str(), task::LayoutOf(space.task).c_str(),
                  std::string(Name(task::DTypeOf(space.task))).c_str(), space.space.size(),
                  static_cast<long>(space.verdicts));
    }
  }
  if (json) {
    PrintDocument("spaces", {{"origin", machine.info().origin}, {"spaces", rows}});
  }
  return 0;
}

}  // namespace

Result<int> RunHgemmShow(const ShowOptions& options) {
  if (options.shape.empty()) {
    search::Machine machine = TRY(search::Machine::Open(options.device));
    return ListSpaces(machine, options.common.json);
  }
  const task::HgemmShape shape = TRY(task::ParseHgemmShape(options.shape));
  const std::optional<hgemm::CatalogueRow> chosen = TRY(CatalogueRowOf(options, shape));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  auto search =
      search::HgemmSearch(machine, hgemm::TaskOf(options.product), task::HgemmWorkload(shape));
  if (chosen && !options.common.json) {
    std::printf("%s\n", LinesForTerminal(hgemm::Explain(*chosen)).c_str());
  }
  // A shape of the catalogue need not have been recorded.
  if (!search.ok() && chosen && search.error().code == ErrorCode::kNotRecorded) {
    if (options.common.json) PrintSpace("", {}, chosen);
    return 0;
  }
  const search::SearchJob job = TRY(std::move(search));
  std::vector<hgemm::KnownPoint> rows = TRY(hgemm::KnownPoints(machine, job));
  const auto measured = std::count_if(
      rows.begin(), rows.end(), [](const hgemm::KnownPoint& row) { return !row.outcome.empty(); });
  if (options.top > 0 && rows.size() > static_cast<size_t>(options.top)) rows.resize(options.top);
  if (options.common.json) {
    PrintSpace(job.space.name(), rows, chosen);
    return 0;
  }
  std::printf("%s: %zu configurations, %ld measured\n%s\n\n", job.space.name().c_str(),
              job.space.size(), static_cast<long>(measured), machine.notice().c_str());
  std::printf("%10s %10s %7s  %-10s %s\n", "predicted", "measured", "ratio", "verdict", "point");
  for (const hgemm::KnownPoint& row : rows) {
    std::printf("%8.2fus ", row.predicted_us);
    row.measured_us ? std::printf("%8.2fus ", *row.measured_us) : std::printf("%10s ", "-");
    row.ratio ? std::printf("%6.3fx ", *row.ratio) : std::printf("%7s ", "-");
    std::printf(" %-10s %s\n", row.outcome.empty() ? "-" : row.outcome.c_str(),
                PointName(row.point).c_str());
  }
  return 0;
}

}  // namespace warpsmith::cli
