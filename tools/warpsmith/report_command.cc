#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/display_text.h"
#include "commands.h"
#include "core/step.h"
#include "report/summary.h"
#include "search.h"
#include "search/tuning/stored_runs.h"
#include "store/database_store.h"

namespace warpsmith::cli {
namespace {

constexpr size_t kMostNameCharacters = 1000;  // uncut, so that it can be given back

// The run and the certification of its best.
std::vector<RunRecord> WithCertification(const std::vector<RunRecord>& runs, const RunRecord& run) {
  std::vector<RunRecord> both = {run};
  for (const RunRecord& other : runs) {
    if (IsCertification(other.id) && CertifiedRun(other.id) == run.id) both.push_back(other);
  }
  return both;
}

struct RunSummary {
  std::string date;             // of the best kernel's verdict, UTC; empty: none passed
  std::optional<double> ratio;  // of the best, to the primary baseline
};

Result<RunSummary> SummaryOf(store::DatabaseStore& store, const std::vector<RunRecord>& runs,
                             const RunRecord& run) {
  const auto best = TRY(store::BestStep(store, WithCertification(runs, run)));
  if (!best) return RunSummary();
  return RunSummary{best->verdict.evidence.date,
                    RatioToPrimary(best->verdict, run.protocol.modes.front())};
}

Result<int> ListRuns(store::DatabaseStore& store, const std::vector<RunRecord>& runs, bool json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RunRecord& run : runs) {
    if (IsCertification(run.id)) continue;
    const RunSummary summary = TRY(SummaryOf(store, runs, run));
    rows.push_back({{"run", run.id},
                    {"task", run.task.name},
                    {"workload", run.workload.name},
                    {"proposer", run.proposer},
                    {"device", run.device.name},
                    {"date", summary.date}});
    if (summary.ratio) rows.back()["ratio"] = *summary.ratio;
    if (!json) {
      // A store may be somebody else's, and a run is named by whoever began it.
      std::printf("%-16s %-7s %-48s %-10s %-18s %-8s %s\n", summary.date.substr(0, 16).c_str(),
                  summary.ratio ? fmt::format("{:.3f}x", *summary.ratio).c_str() : "-",
                  ForTerminal(run.id, kMostNameCharacters).c_str(),
                  ForTerminal(run.task.name).c_str(), ForTerminal(run.workload.name).c_str(),
                  ForTerminal(run.proposer).c_str(), ForTerminal(run.device.name).c_str());
    }
  }
  if (json) PrintDocument("runs", {{"runs", rows}});
  return 0;
}

// The run itself and its certification; or, for a prefix, every run below it.
bool Wanted(const std::string& id, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (id == name || id.starts_with(name + "/")) return true;
  }
  return false;
}

Result<report::RunReport> ReportOf(store::DatabaseStore& store, const std::vector<RunRecord>& runs,
                                   const std::vector<std::string>& names) {
  report::RunReport report;
  for (const RunRecord& run : runs) {
    if (!Wanted(run.id, names) || IsCertification(run.id)) continue;
    Trajectory steps = TRY(store.Steps(run.id));
    for (Step& step : TRY(search::CertifiedSteps(store, run, runs))) {
      steps.push_back(std::move(step));
    }
    TRY(search::Overrule(store, run.id, steps));
    report.shapes.push_back(report::SummariseShape(run.task, run.workload, steps, Mode::kDeviceHot,
                                                   RewardOfProposer(run.proposer)));
    report.origin.device = run.device.name;
    report.origin.driver = run.device.driver;
    report.origin.command = run.command;
    if (run.device.origin != "local") report.origin.recording = run.device.origin;
    for (const Step& step : steps) {
      const Evidence& evidence = step.verdict.evidence;
      report.origin.date = std::max(report.origin.date, evidence.date);
      if (!evidence.toolchain.empty()) report.origin.toolkit = evidence.toolchain;
      if (!evidence.baseline_library.empty()) {
        report.origin.baseline_library = evidence.baseline_library;
      }
    }
  }
  return report;
}

}  // namespace

Result<int> RunReport(const ReportOptions& options) {
  if (options.compare) return CompareStoredRuns(options);
  const auto store = TRY(search::OpenExistingStore(options.device.store));
  const std::vector<RunRecord> runs = TRY(store->Runs());
  if (options.runs.empty()) return ListRuns(*store, runs, options.common.json);
  report::RunReport report = TRY(ReportOf(*store, runs, options.runs));
  if (report.shapes.empty()) {
    return Error{ErrorCode::kNoInput, "no run named '" + options.runs.front() + "'",
                 "'warpsmith report' lists the runs"};
  }
  report.title = options.runs.front();
  report.origin.program = "warpsmith " + std::string(build_info::Version());
  TRY(Publish(report, options.files, options.common.json));
  return 0;
}

}  // namespace warpsmith::cli
