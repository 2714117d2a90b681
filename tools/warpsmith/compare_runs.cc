#include <unistd.h>

#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_reader.h"
#include "commands.h"
#include "report/run_comparison.h"
#include "report/run_report.h"
#include "report/terminal.h"
#include "search/machine/machine.h"
#include "search/tuning/stored_runs.h"

namespace warpsmith::cli {
namespace {

Status Publish(const report::RunComparison& comparison, const ReportFiles& files, bool json) {
  if (!files.html.empty()) TRY(WriteFileAtomic(files.html, report::ToHtml(comparison)));
  if (!files.csv.empty()) TRY(WriteFileAtomic(files.csv, report::ToCsv(comparison)));
  const std::string document = JsonText(report::ToJson(comparison), 1) + "\n";
  if (!files.json.empty()) TRY(WriteFileAtomic(files.json, document));
  const std::string text =
      json ? document : report::RenderComparison(comparison, report::StyleOf(STDOUT_FILENO).colour);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!json && !files.html.empty()) std::printf("report: %s\n", files.html.c_str());
  return {};
}

}  // namespace

Result<int> CompareStoredRuns(const ReportOptions& options) {
  if (options.runs.empty()) {
    return Error{ErrorCode::kUsage, "--compare needs the names of runs",
                 "warpsmith report --compare FRESH WARM"};
  }
  const auto store = TRY(search::OpenExistingStore(options.device.store));
  const std::vector<RunRecord> all = TRY(store->Runs());
  std::vector<report::SideRuns> sides;
  for (const std::string& name : options.runs)
    sides.push_back(TRY(search::SideOf(*store, name, all)));
  report::RunComparison comparison = report::CompareRuns(sides);
  for (const std::string& name : options.runs) {
    comparison.title += (comparison.title.empty() ? "" : " | ") + name;
  }
  comparison.origin = search::OriginOfSides(sides);
  TRY(Publish(comparison, options.files, options.common.json));
  return 0;
}

}  // namespace warpsmith::cli
