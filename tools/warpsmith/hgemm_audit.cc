#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "audit/audit.h"
#include "audit/finding.h"
#include "catalogue.h"
#include "dispatch_commands.h"
#include "hgemm/configurations.h"
#include "hgemm/family.h"
#include "machine.h"
#include "optimize/slice.h"
#include "solo/solo.h"
#include "task/hgemm_task.h"
#include "util/clock.h"
#include "util/display_text.h"
#include "util/file.h"
#include "util/interrupt.h"

namespace warpsmith::cli {
namespace {

constexpr unsigned kMostAtOnce = 8;  // each has a CUDA context and a shape's matrices

struct Watch {
  hgemm::CatalogueRow row;
  std::string_view check;
};

// memcheck of every configuration, racecheck of the first of every family.
std::vector<Watch> WatchesOf(const std::vector<hgemm::CatalogueRow>& rows) {
  std::vector<Watch> watches;
  std::set<std::string> families;
  for (const hgemm::CatalogueRow& row : rows) {
    if (families.insert(row.kernel.family).second) watches.push_back({row, audit::kRacecheck});
  }
  for (const hgemm::CatalogueRow& row : rows) watches.push_back({row, audit::kMemcheck});
  return watches;
}

Result<audit::AuditFinding> Run(Machine& machine, const Watch& watch) {
  const hgemm::Problem& problem = watch.row.problem;
  audit::AuditRequest request;
  request.candidate = TRY(hgemm::MakeCandidate(problem, watch.row.kernel));
  CompileOutcome compiled =
      TRY(machine.compiler().Compile(request.candidate, machine.info().architecture));
  if (const auto* failed = std::get_if<CompileFailed>(&compiled)) {
    return audit::Absent(watch.check, Describe(Outcome(*failed)));
  }
  request.artifact = std::get<Artifact>(std::move(compiled));
  request.task = task::HgemmTask(hgemm::LayoutText(problem.layout), problem.dtype);
  request.workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  request.solo_argv = {ThisExecutable().string(), std::string(solo::kSoloSubcommand)};
  request.device_uuid = machine.info().uuid;
  return audit::Sanitize(request, watch.check);
}

// A line a watch, flushed as it comes. Thread-safe.
class Findings {
 public:
  Status Open(const std::string& path, const DeviceInfo& info) {
    if (path.empty()) return {};
    file_.open(path);
    if (!file_.good()) return Error{ErrorCode::kIo, "cannot write " + path, "name another --csv"};
    writes_ = true;
    file_ << "# " << info.name << ", driver " << info.driver << ", " << UtcTimestamp()
          << ", warpsmith hgemm audit\nm,n,k,layout,dtype,check,finding,detail,config\n";
    return {};
  }

  void Add(const Watch& watch, const audit::AuditFinding& finding) {
    const auto* report = std::get_if<AuditReport>(&finding);
    const bool clean = report != nullptr && report->status == AuditStatus::kClean;
    std::string detail = report != nullptr ? report->detail : std::get<Rejected>(finding).detail;
    const std::string name = hgemm::NameOf(watch.row.problem) + " " + PointName(watch.row.kernel) +
                             ": " + std::string(watch.check);
    const std::lock_guard lock(mutex_);
    ++(clean ? clean_ : report == nullptr ? convicted_ : absent_);
    if (!clean) {
      std::fprintf(stderr, "%s %s: %s\n", name.c_str(), report == nullptr ? "found" : "is absent",
                   ForTerminal(detail).c_str());
    }
    std::replace(detail.begin(), detail.end(), ',', ';');
    std::replace(detail.begin(), detail.end(), '\n', ' ');
    const hgemm::Problem& p = watch.row.problem;
    file_ << p.m << ',' << p.n << ',' << p.k << ',' << hgemm::LayoutText(p.layout) << ','
          << Name(p.dtype) << ',' << watch.check << ','
          << (clean               ? "clean"
              : report == nullptr ? "found"
                                  : "absent")
          << ',' << detail << ',' << PointName(watch.row.kernel) << '\n'
          << std::flush;
    broken_ = writes_ && !file_.good();
  }

  int clean() const { return clean_; }
  int convicted() const { return convicted_; }
  int absent() const { return absent_; }
  int done() const { return clean_ + convicted_ + absent_; }
  bool broken() const { return broken_; }

 private:
  std::mutex mutex_;
  std::ofstream file_;
  bool writes_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<int> clean_ = 0, convicted_ = 0, absent_ = 0;
};

// Several at once: nothing is timed. What keeps a run from being watched is told, and the others go
// on.
void RunAll(Machine& machine, const std::vector<Watch>& watches, Findings& findings,
            const std::function<bool()>& stop) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < watches.size() && !stop(); i = next++) {
      auto finding = Run(machine, watches[i]);
      findings.Add(watches[i], finding.ok()
                                   ? *std::move(finding)
                                   : audit::Absent(watches[i].check, finding.error().Line()));
    }
  };
  std::vector<std::thread> workers;
  const unsigned at_once = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMostAtOnce);
  for (unsigned i = 0; i < at_once; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

Result<int> RunHgemmAudit(const HgemmAuditOptions& options) {
  const optimize::Slice slice = TRY(optimize::ParseSlice(options.pace.slice));
  const hgemm::Catalogue catalogue = TRY(ReadCatalogue(options.catalogue));
  const std::vector<Watch> watches =
      optimize::TakeSlice(slice, WatchesOf(hgemm::OneOfEachConfiguration(catalogue)));
  Machine machine = TRY(Machine::Open(options.device));
  if (machine.recorded() != nullptr) {
    return Error{ErrorCode::kUnavailable, "sanitizers need a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  const auto turn = TRY(machine.local()->TakeTurn());
  const double started = MonotonicSeconds();
  Findings findings;
  TRY(findings.Open(options.csv, machine.info()));
  RunAll(machine, watches, findings, [&] {
    const bool late =
        options.pace.max_seconds > 0 && MonotonicSeconds() - started > options.pace.max_seconds;
    return late || Interrupted() || findings.broken();
  });
  if (findings.broken()) return Error{ErrorCode::kIo, "writing " + options.csv + " failed", ""};
  if (findings.done() == 0) {
    return Error{ErrorCode::kNothingMeasured, "nothing was watched",
                 "the catalogue must choose kernels, and --max-seconds allow a run"};
  }
  if (options.common.json) {
    const nlohmann::json document = {{"schema", "warpsmith.hgemm-audit"},
                                     {"version", 1},
                                     {"runs", watches.size()},
                                     {"clean", findings.clean()},
                                     {"found", findings.convicted()},
                                     {"absent", findings.absent()}};
    std::printf("%s\n", document.dump(1).c_str());
  } else {
    std::printf("%d of %zu runs watched: %d clean, %d with findings, %d not watched to their end\n",
                findings.done(), watches.size(), findings.clean(), findings.convicted(),
                findings.absent());
  }
  if (Interrupted()) return Describe(ErrorCode::kInterrupted).exit_status;
  return findings.clean() == static_cast<int>(watches.size()) ? 0 : 1;
}

}  // namespace warpsmith::cli
