// What judges many kernels: `hgemm verify`, `hgemm audit` and `record`.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "commands.h"
#include "hgemm/bench/audit.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/bench/record.h"
#include "hgemm/bench/verify.h"
#include "search.h"
#include "search/slice.h"

namespace warpsmith::cli {

Result<int> RunHgemmVerify(const hgemm::VerifyOptions& options) {
  const hgemm::Verified verified = TRY(hgemm::Verify(options));
  std::printf("%ld of %zu kernels judged on %zu shapes: %ld passed, %ld failed\n",
              static_cast<long>(verified.judged), verified.kernels, verified.shapes,
              static_cast<long>(verified.judged - verified.failed),
              static_cast<long>(verified.failed));
  if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  return verified.failed > 0 ? 1 : 0;
}

Result<int> RunHgemmAudit(const hgemm::AuditOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<hgemm::Watched> watches =
      search::TakeSlice(slice, hgemm::WatchesOf(TRY(hgemm::ReadCatalogue(options.catalogue))));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  TRY(machine.NeedsLocal("sanitizers need"));
  hgemm::AuditFindings findings;
  TRY(hgemm::Audit(machine, watches, options, findings));
  if (options.common.json) {
    PrintDocument("hgemm-audit", {{"runs", watches.size()},
                                  {"clean", findings.clean() + findings.known()},
                                  {"known", findings.known()},
                                  {"found", findings.convicted()},
                                  {"absent", findings.absent()}});
  } else {
    std::printf(
        "%d of %zu runs: %d clean now, %d known to be, %d with findings, %d not watched to their "
        "end\n",
        findings.done(), watches.size(), findings.clean(), findings.known(), findings.convicted(),
        findings.absent());
  }
  if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  return findings.clean() + findings.known() == static_cast<int>(watches.size()) ? 0 : 1;
}

Result<int> RunRecording(const hgemm::RecordOptions& options) {
  search::Machine machine = TRY(search::Machine::Open(options.device));
  if (!options.dry_run) TRY(machine.NeedsLocal("recording needs"));
  const std::vector<search::SearchJob> jobs = TRY(hgemm::JobsToRecord(machine, options));
  if (options.dry_run) {
    std::vector<hgemm::PlannedSearch> plan;
    for (const search::SearchJob& job : jobs) {
      const size_t points = job.space.size();
      plan.push_back({job.label, points, static_cast<int64_t>(points),
                      hgemm::kSecondsAScreenedVerdict * static_cast<double>(points)});
    }
    PrintDryRun(plan, options.common.json);
    return 0;
  }
  const hgemm::Recorded recorded = TRY(hgemm::Record(machine, options, jobs));
  std::printf("%s: %ld verdicts%s\n", options.output.c_str(), static_cast<long>(recorded.verdicts),
              recorded.done ? "" : "; stopped early: the same command goes on");
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.UseLine().c_str());
  return StatusNow();
}

}  // namespace warpsmith::cli
