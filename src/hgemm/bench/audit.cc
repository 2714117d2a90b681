#include "hgemm/bench/audit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>
#include <variant>

#include <unistd.h>

#include "base/caught.h"
#include "base/clock.h"
#include "base/display_text.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "hgemm/bench/catalogues.h"
#include "hgemm/cost_model.h"
#include "hgemm/family.h"
#include "hgemm/table_text.h"
#include "judge/standalone/standalone.h"
#include "report/terminal.h"
#include "search/call_time.h"
#include "search/session.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

constexpr std::string_view kColumns = "m,n,k,layout,dtype,check,finding,detail,config,cubin\n";
constexpr size_t kColumnCount = 10, kCheckColumn = 5, kFindingColumn = 6, kCubinColumn = 9;
constexpr unsigned kMostAtOnce = 8;  // each has a CUDA context and a shape's matrices
constexpr std::string_view kClean = "clean", kFound = "found";

std::string OnOneLine(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Nothing where the same cubin is known to be clean.
Result<std::optional<audit::AuditFinding>> WatchOne(search::Machine& machine,
                                                    const AuditFindings& findings,
                                                    Watched& watched) {
  const Problem& problem = watched.row.problem;
  audit::AuditRequest request;
  request.candidate = TRY(MakeCandidate(problem, watched.row.kernel));
  CompileOutcome compiled =
      TRY(machine.compiler().Compile(request.candidate, machine.info().architecture));
  if (const auto* failed = std::get_if<CompileFailed>(&compiled)) {
    return std::optional(audit::Absent(watched.check, Describe(Outcome(*failed))));
  }
  request.artifact = std::get<Artifact>(std::move(compiled));
  watched.cubin = request.artifact.image_sha256;
  if (findings.IsKnown(watched.check, watched.cubin)) return std::optional<audit::AuditFinding>();
  request.task = task::HgemmTask(LayoutText(problem.layout), problem.dtype);
  request.workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  request.standalone_argv = {ThisExecutable().string(),
                             std::string(standalone::kStandaloneSubcommand)};
  request.device_uuid = machine.info().uuid;
  return std::optional(TRY(audit::Sanitize(request, watched.check)));
}

}  // namespace

// The head and all whole rows.
Result<std::string> AuditFindings::WholeRows(const std::string& path, const std::string& head) {
  const std::string text = TRY(ReadFile(path));
  const size_t first = text.find('\n');
  if (!text.starts_with(head) || text.compare(first + 1, kColumns.size(), kColumns) != 0) {
    return Error{ErrorCode::kBadInput,
                 path + " holds no audit that began '" + head + "' and has the columns " +
                     std::string(kColumns.substr(0, kColumns.size() - 1)),
                 "give --csv another name"};
  }
  size_t at = first + 1 + kColumns.size();
  for (size_t end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::vector<std::string_view> cells = Split(line, ',');
    if (cells.size() != kColumnCount) continue;
    TakeRow(line, cells);
  }
  return text.substr(0, at);
}

// A run that was not watched to its end says nothing.
void AuditFindings::TakeRow(const std::string& line, const std::vector<std::string_view>& cells) {
  const Key key{cells[kCheckColumn], cells[kCubinColumn]};
  const std::string run =
      line.substr(0, static_cast<size_t>(cells[kFindingColumn].data() - line.data()));
  if (cells[kFindingColumn] == kClean) {
    clean_before_.insert(key);
    convicted_before_[key].erase(run);
  } else if (cells[kFindingColumn] == kFound) {
    convicted_before_[key].insert(run);
  }
}

Status AuditFindings::Open(const std::string& path, const DeviceInfo& info) {
  if (path.empty()) return {};
  const std::string head = "# " + info.name + ", driver " + info.driver + ", ";
  lock_.emplace(TRY(FileLock::Acquire(path + ".lock", path, kNoPatience)));
  std::string kept = head + UtcTimestamp() + ", " + ShortUuid(info.uuid) + ", commit " +
                     CommitText() + ", warpsmith hgemm audit\n" + std::string(kColumns);
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown) || unknown) kept = TRY(WholeRows(path, head));
  TRY(WriteFileAtomic(path, kept));
  file_.emplace(TRY(AppendFile::Open(path, static_cast<int64_t>(kept.size()))));
  return {};
}

bool AuditFindings::IsKnown(std::string_view check, const std::string& cubin) const {
  const Key key{check, cubin};
  const auto convicted = convicted_before_.find(key);
  const bool stands = convicted != convicted_before_.end() && !convicted->second.empty();
  return !cubin.empty() && clean_before_.contains(key) && !stands;
}

void AuditFindings::Add(const Watched& watched, const audit::AuditFinding& finding) {
  const auto* report = std::get_if<AuditReport>(&finding);
  const bool clean = report != nullptr && report->status == AuditStatus::kClean;
  const std::string_view word = clean ? kClean : report == nullptr ? kFound : "absent";
  const std::string& detail =
      report != nullptr ? report->detail : std::get<Rejected>(finding).detail;
  const Problem& p = watched.row.problem;
  const std::string kernel = PointName(watched.row.kernel);
  const std::lock_guard lock(mutex_);
  ++(clean ? clean_ : report == nullptr ? convicted_ : absent_);
  if (!clean) {
    std::fprintf(stderr, "%s %s: %s %s: %s\n", NameOf(p).c_str(), kernel.c_str(),
                 std::string(watched.check).c_str(), report == nullptr ? "found" : "is absent",
                 ForTerminal(detail).c_str());
  }
  if (!file_ || broken_) return;
  const std::string row = ExtentsText(p) + "," + std::string(LayoutText(p.layout)) + "," +
                          std::string(warpsmith::Name(p.dtype)) + "," + std::string(watched.check) +
                          "," + std::string(word) + "," + OnOneLine(detail) + "," + kernel + "," +
                          watched.cubin + "\n";
  if (const Status written = file_->Append(row); !written.ok()) broken_ = written.error();
}

std::optional<Error> AuditFindings::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

std::vector<Watched> WatchesOf(const Catalogue& catalogue) {
  const std::vector<CatalogueRow> rows = OneOfEachConfiguration(catalogue);
  std::vector<Watched> watches;
  std::set<std::string> families;
  for (const CatalogueRow& row : rows) {
    if (families.insert(row.kernel.family).second) watches.push_back({row, audit::kRacecheck, {}});
  }
  for (const CatalogueRow& row : rows) watches.push_back({row, audit::kMemcheck, {}});
  return watches;
}

Status Audit(search::Machine& machine, const std::vector<Watched>& watches,
             const AuditOptions& options, AuditFindings& findings) {
  const auto turn = TRY(machine.local()->TakeTurn());
  const search::CallTime time(options.pace);
  TRY(findings.Open(options.csv, machine.info()));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < watches.size(); i = next++) {
      if (time.IsOver() || findings.broken().has_value()) break;
      Watched watched = watches[i];
      const auto finding = Caught([&] { return WatchOne(machine, findings, watched); });
      if (!finding.ok()) {
        findings.Add(watched, audit::Absent(watched.check, finding.error().Line()));
      } else if (*finding) {
        findings.Add(watched, **finding);
      } else {
        findings.AddKnown();
      }
    }
  };
  std::vector<std::thread> workers;
  const unsigned at_once = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMostAtOnce);
  for (unsigned i = 0; i < at_once; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  if (const auto broken = findings.broken()) return *broken;
  if (findings.done() > 0) return {};
  return Error{ErrorCode::kNothingMeasured, "nothing was watched",
               "the catalogue must choose kernels, and --max-seconds allow a run"};
}

namespace {

// Correctness needs one batch; the time it takes comes along.
Protocol OneBatch() {
  Protocol protocol = Protocol::Screened();
  protocol.rounds = protocol.max_rounds = protocol.samples_per_round = 1;
  protocol.step_timeout_ms = 30'000;
  return protocol;
}

struct VerifyOne {
  Problem problem;
  Point point;
  Job job;
};

VerifyOne CheckOf(const Problem& problem, const Point& point, Candidate candidate) {
  VerifyOne check{problem, point, {}};
  check.job.task = task::HgemmTask(LayoutText(problem.layout), problem.dtype);
  check.job.task.baselines.clear();
  check.job.workload = task::HgemmWorkload({problem.m, problem.n, problem.k});
  check.job.candidate = std::move(candidate);
  check.job.protocol = OneBatch();
  check.job.key =
      MeasurementKey(check.job.candidate, check.job.task, check.job.workload, check.job.protocol);
  return check;
}

// The configuration of each family that the model likes best.
std::vector<VerifyOne> ChecksOf(const Problem& problem, const Target& target) {
  std::vector<VerifyOne> checks;
  for (const Family& family : Families()) {
    std::optional<Point> best;
    double best_us = 0;
    for (Config& config : family.configs(problem, target)) {
      Point point{std::string(family.name), std::move(config)};
      const double us = PredictUs(problem, target, point);
      if (best && us >= best_us) continue;
      best = std::move(point);
      best_us = us;
    }
    if (!best) continue;
    checks.push_back(CheckOf(problem, *best, family.make(problem, best->config)));
  }
  return checks;
}

// The kernels that a catalogue chose, as this program makes them.
Result<std::vector<VerifyOne>> CatalogueChecks(const std::string& path,
                                               const search::Slice& slice) {
  const Catalogue catalogue = TRY(ReadCatalogue(path));
  std::vector<CatalogueRow> rows;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.choice == Choice::kKernel) rows.push_back(row);
  }
  std::vector<VerifyOne> checks;
  for (const CatalogueRow& row : search::TakeSlice(slice, rows)) {
    checks.push_back(CheckOf(row.problem, row.kernel, TRY(MakeCandidate(row.problem, row.kernel))));
  }
  return checks;
}

std::vector<Problem> ProblemsToVerify(const std::vector<task::HgemmShape>& shapes,
                                      const ProductOptions& product) {
  std::vector<Problem> problems;
  for (const task::HgemmShape& shape : shapes) {
    for (const char* layout : {"NN", "TN"}) {
      if (product.layout != "both" && product.layout != layout) continue;
      for (const char* dtype : {"f16", "bf16"}) {
        if (product.dtype != "both" && product.dtype != dtype) continue;
        problems.push_back(search::ProblemOf(TaskOf({layout, dtype}), task::HgemmWorkload(shape)));
      }
    }
  }
  return problems;
}

// Spaces are large and a grid has many: every core enumerates.
std::vector<VerifyOne> AllChecks(const std::vector<Problem>& problems, const Target& target) {
  const size_t items = problems.size();
  std::vector<std::vector<VerifyOne>> parts(items);
  const size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::future<void>> workers;
  for (size_t worker = 0; worker < threads; ++worker) {
    workers.push_back(std::async(std::launch::async, [&, worker] {
      for (size_t i = worker; i < items && !Interrupted(); i += threads) {
        parts[i] = ChecksOf(problems[i], target);
      }
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
  std::vector<VerifyOne> checks;
  for (std::vector<VerifyOne>& part : parts) {
    std::move(part.begin(), part.end(), std::back_inserter(checks));
  }
  return checks;
}

// One line a check, flushed as it comes.
class VerifyRows {
 public:
  // An empty path keeps none of them; a file that is there is replaced.
  static Result<VerifyRows> Open(const std::string& path, const std::string& provenance) {
    VerifyRows results;
    if (path.empty()) return results;
    results.file_.open(path);
    results.file_ << "# " << provenance
                  << "\n"
                     "m,n,k,layout,dtype,family,verdict,us,worst_bound_fraction,config\n"
                  << std::flush;
    if (results.file_.good()) return results;
    return Error{ErrorCode::kIo, "cannot write " + path, "name another --csv"};
  }

  void Add(const VerifyOne& check, const Verdict& verdict) {
    const auto* passed = std::get_if<Passed>(&verdict.outcome);
    if (passed == nullptr) {
      ++failed_;
      std::fprintf(stderr, "%s %s: %s\n", NameOf(check.problem).c_str(),
                   PointName(check.point).c_str(), Describe(verdict.outcome).c_str());
    }
    ++done_;
    const ModeTiming* timing = FindTiming(verdict, Mode::kDeviceHot);
    char line[512];
    std::snprintf(line, sizeof line, "%ld,%ld,%ld,%s,%s,%s,%s,%.4g,%.3g,%s\n",
                  static_cast<long>(check.problem.m), static_cast<long>(check.problem.n),
                  static_cast<long>(check.problem.k), LayoutText(check.problem.layout),
                  std::string(warpsmith::Name(check.problem.dtype)).c_str(),
                  check.point.family.c_str(), std::string(OutcomeName(verdict.outcome)).c_str(),
                  timing == nullptr ? 0 : timing->candidate.median_us,
                  passed == nullptr ? 0 : passed->correctness.worst_bound_fraction,
                  PointName(check.point).c_str());
    file_ << line << std::flush;
  }

  int64_t done() const { return done_; }
  int64_t failed() const { return failed_; }
  bool broken() const { return file_.is_open() && !file_.good(); }

 private:
  VerifyRows() = default;

  std::ofstream file_;
  int64_t done_ = 0, failed_ = 0;
};

}  // namespace

Result<Verified> Verify(const VerifyOptions& options) {
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  std::vector<task::HgemmShape> shapes =
      search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)));
  std::vector<VerifyOne> checks;
  if (!options.catalogue.empty()) checks = TRY(CatalogueChecks(options.catalogue, slice));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  if (machine.recorded() != nullptr) {
    return Error{ErrorCode::kUnavailable, "verifying needs a GPU; " + machine.notice(),
                 "run it where 'warpsmith doctor' finds one"};
  }
  VerifyRows results =
      TRY(VerifyRows::Open(options.csv, ProvenanceText(machine.info(), options.common.command)));
  const search::CallTime time(options.pace);
  if (options.catalogue.empty()) {
    checks = AllChecks(ProblemsToVerify(shapes, options.product), TargetOf(machine.info()));
  }
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const auto show = [&] {
    report::Progress progress;
    progress.label = "verify";
    progress.evaluations = results.done();
    progress.planned = static_cast<int64_t>(checks.size());
    if (results.failed() > 0) progress.failed["checks"] = results.failed();
    if (!options.common.quiet) line.Update(progress, MonotonicSeconds());
  };
  search::SessionOptions judging;
  judging.stop = [&] { return time.IsOver() || results.broken(); };
  // What is known of the kernels is no answer: they are judged anew.
  search::Session session({}, {machine.device(), machine.loop_compiler()}, judging);
  auto next = checks.begin();
  TRY(session.Evaluate(
      [&]() -> Result<std::optional<Job>> {
        return next == checks.end() ? std::optional<Job>() : (next++)->job;
      },
      [&](const search::Judged& judged) -> Result<bool> {
        results.Add(checks[static_cast<size_t>(judged.step.index)], judged.step.verdict);
        show();
        return true;
      }));
  line.Clear();
  if (results.broken()) return Error{ErrorCode::kIo, "writing " + options.csv + " failed", ""};
  if (results.done() == 0) {
    return Error{ErrorCode::kNothingMeasured, "nothing was verified", "raise --max-seconds"};
  }
  std::set<std::string> names;
  for (const VerifyOne& check : checks) names.insert(check.job.workload.name);
  return Verified{results.done(), results.failed(), checks.size(), names.size()};
}

}  // namespace warpsmith::hgemm
