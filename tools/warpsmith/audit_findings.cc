#include "audit_findings.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/file.h"
#include "core/provenance.h"
#include "hgemm/cells.h"
#include "hgemm/family.h"

namespace warpsmith::cli {
namespace {

constexpr std::string_view kColumns = "m,n,k,layout,dtype,check,finding,detail,config,cubin\n";
constexpr size_t kColumnCount = 10, kCheckColumn = 5, kFindingColumn = 6, kCubinColumn = 9;
constexpr std::string_view kClean = "clean", kFound = "found";
constexpr std::chrono::milliseconds kFindingsLockPatience{0};

std::string OnOneLine(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
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
    const std::vector<std::string_view> cells = hgemm::Split(line, ',');
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
  lock_.emplace(TRY(FileLock::Acquire(path + ".lock", path, kFindingsLockPatience)));
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
  const hgemm::Problem& p = watched.row.problem;
  const std::string kernel = PointName(watched.row.kernel);
  const std::lock_guard lock(mutex_);
  ++(clean ? clean_ : report == nullptr ? convicted_ : absent_);
  if (!clean) {
    std::fprintf(stderr, "%s %s: %s %s: %s\n", hgemm::NameOf(p).c_str(), kernel.c_str(),
                 std::string(watched.check).c_str(), report == nullptr ? "found" : "is absent",
                 ForTerminal(detail).c_str());
  }
  if (!file_ || broken_) return;
  const std::string row = std::to_string(p.m) + "," + std::to_string(p.n) + "," +
                          std::to_string(p.k) + "," + std::string(hgemm::LayoutText(p.layout)) +
                          "," + std::string(Name(p.dtype)) + "," + std::string(watched.check) +
                          "," + std::string(word) + "," + OnOneLine(detail) + "," + kernel + "," +
                          watched.cubin + "\n";
  if (const Status written = file_->Append(row); !written.ok()) broken_ = written.error();
}

std::optional<Error> AuditFindings::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

}  // namespace warpsmith::cli
