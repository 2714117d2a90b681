#include "baselines.h"

#include <utility>

#include "judge/baseline/gemm_baseline.h"
#include "search/session.h"

namespace warpsmith::cli {
Protocol LibrariesProtocol() {
  Protocol protocol = Protocol::Screened();
  protocol.level = Level::kCertified;  // a screened job meets the bar alone
  protocol.modes = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer};
  protocol.rounds = protocol.max_rounds = 5;
  protocol.samples_per_round = 1;  // medians over rounds are all that is kept
  return protocol;
}

std::vector<store::BaselineRow> LibraryRows(const std::string& space, const ModeTiming& mode) {
  std::vector<store::BaselineRow> rows;
  for (const ContenderTiming& baseline : mode.baselines) {
    if (baseline.name.ends_with("/again")) continue;
    const size_t suffix = baseline.name.size() - 3;
    const bool fixed = baseline.name.ends_with("-nn") || baseline.name.ends_with("-tn");
    rows.push_back({space, fixed ? baseline.name.substr(0, suffix) : baseline.name,
                    fixed ? baseline.name.substr(suffix + 1) : "max", mode.mode,
                    baseline.median_us});
  }
  return rows;
}

std::vector<store::BaselineRow> LibraryRows(const std::string& space, const Timing& timing) {
  std::vector<store::BaselineRow> rows;
  for (const ModeTiming& mode : timing.modes) {
    for (store::BaselineRow& row : LibraryRows(space, mode)) rows.push_back(std::move(row));
  }
  return rows;
}

Result<BesideLibraries> MeasureBesideLibraries(Machine& machine, const SearchJob& job,
                                               const Point& point, const Protocol& protocol) {
  Task task = job.task;
  task.baselines = baseline::GemmBaselineNames();
  search::Session session({task, job.workload, protocol}, TRY(machine.seams()));
  const Verdict verdict = TRY(session.Evaluate(TRY(job.make(point)))).step.verdict;
  if (const auto* passed = std::get_if<Passed>(&verdict.outcome)) {
    return BesideLibraries{passed->timings.front(), verdict.evidence.baseline_library};
  }
  return Error{
      ErrorCode::kNothingMeasured,
      "baselines of " + job.label + ": the kernel beside them: " + Describe(verdict.outcome), ""};
}

}  // namespace warpsmith::cli
