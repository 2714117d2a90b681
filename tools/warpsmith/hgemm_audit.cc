#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "audit_findings.h"
#include "base/caught.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "call_time.h"
#include "catalogue.h"
#include "dispatch_commands.h"
#include "hgemm/configurations.h"
#include "hgemm/family.h"
#include "judge/audit/audit.h"
#include "judge/audit/finding.h"
#include "judge/standalone/solo.h"
#include "machine.h"
#include "search/slice.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
namespace {

constexpr unsigned kMostAtOnce = 8;  // each has a CUDA context and a shape's matrices

// memcheck of every configuration, racecheck of the first of every family.
std::vector<Watched> WatchesOf(const std::vector<hgemm::CatalogueRow>& rows) {
  std::vector<Watched> watches;
  std::set<std::string> families;
  for (const hgemm::CatalogueRow& row : rows) {
    if (families.insert(row.kernel.family).second) watches.push_back({row, audit::kRacecheck, {}});
  }
  for (const hgemm::CatalogueRow& row : rows) watches.push_back({row, audit::kMemcheck, {}});
  return watches;
}

// Nothing where the same cubin is known to be clean.
Result<std::optional<audit::AuditFinding>> Run(Machine& machine, const AuditFindings& findings,
                                               Watched& watched) {
  const hgemm::Problem& problem = watched.row.problem;
  audit::AuditRequest request;
  request.candidate = TRY(hgemm::MakeCandidate(problem, watched.row.kernel));
  CompileOutcome compiled =
      TRY(machine.compiler().Compile(request.candidate, machine.info().architecture));
  if (const auto* failed = std::get_if<CompileFailed>(&compiled)) {
    return std::optional(audit::Absent(watched.check, Describe(Outcome(*failed))));
  }
  request.artifact = std::get<Artifact>(std::move(compiled));
  watched.cubin = request.artifact.image_sha256;
  if (findings.IsKnown(watched.check, watched.cubin)) return std::optional<audit::AuditFinding>();
  request.task = task::HgemmTask(hgemm::LayoutText(problem.layout), problem.dtype);
  request.workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  request.solo_argv = {ThisExecutable().string(), std::string(standalone::kSoloSubcommand)};
  request.device_uuid = machine.info().uuid;
  return std::optional(TRY(audit::Sanitize(request, watched.check)));
}

// Several at once: nothing is timed. What keeps a run from being watched is told, and the others go
// on.
void RunAll(Machine& machine, std::vector<Watched> watches, AuditFindings& findings,
            const std::function<bool()>& stop) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < watches.size() && !stop(); i = next++) {
      const auto finding = Caught([&] { return Run(machine, findings, watches[i]); });
      if (!finding.ok()) {
        findings.Add(watches[i], audit::Absent(watches[i].check, finding.error().Line()));
      } else if (*finding) {
        findings.Add(watches[i], **finding);
      } else {
        findings.AddKnown();
      }
    }
  };
  std::vector<std::thread> workers;
  const unsigned at_once = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMostAtOnce);
  for (unsigned i = 0; i < at_once; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

Result<int> RunHgemmAudit(const HgemmAuditOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const hgemm::Catalogue catalogue = TRY(ReadCatalogue(options.catalogue));
  const std::vector<Watched> watches =
      search::TakeSlice(slice, WatchesOf(hgemm::OneOfEachConfiguration(catalogue)));
  Machine machine = TRY(Machine::Open(options.device));
  if (machine.recorded() != nullptr) {
    return Error{ErrorCode::kUnavailable, "sanitizers need a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  const auto turn = TRY(machine.local()->TakeTurn());
  const CallTime time(options.pace);
  AuditFindings findings;
  TRY(findings.Open(options.csv, machine.info()));
  RunAll(machine, watches, findings,
         [&] { return time.IsOver() || findings.broken().has_value(); });
  if (const auto broken = findings.broken()) return *broken;
  if (findings.done() == 0) {
    return Error{ErrorCode::kNothingMeasured, "nothing was watched",
                 "the catalogue must choose kernels, and --max-seconds allow a run"};
  }
  if (options.common.json) {
    const nlohmann::json document = {{"schema", "warpsmith.hgemm-audit"},
                                     {"version", 1},
                                     {"runs", watches.size()},
                                     {"clean", findings.clean() + findings.known()},
                                     {"known", findings.known()},
                                     {"found", findings.convicted()},
                                     {"absent", findings.absent()}};
    std::printf("%s\n", document.dump(1).c_str());
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

}  // namespace warpsmith::cli
