#include "hgemm/bench/audit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <variant>
#include <vector>

#include "base/caught.h"
#include "base/clock.h"
#include "base/display_text.h"
#include "base/file.h"
#include "base/text.h"
#include "core/device.h"
#include "hgemm/catalogue.h"
#include "hgemm/family.h"
#include "hgemm/table_text.h"
#include "judge/audit/audit.h"
#include "judge/standalone/standalone.h"
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

}  // namespace warpsmith::hgemm
