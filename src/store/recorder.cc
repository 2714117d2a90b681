#include "store/recorder.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/compression.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "core/serialize.h"

namespace warpsmith::store {
namespace {

constexpr double kSyncEverySeconds = 1;
constexpr int kFinalLevel = 19;  // written once, fetched and read many times

std::filesystem::path Beside(const std::filesystem::path& path, const char* suffix) {
  return path.string() + suffix;
}

Error NotTheSame(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kConfig, path.string() + " was begun with " + what,
          "record to another file, or remove this one"};
}

// JSON holds nothing else, and a source that came back changed would be another candidate.
Status CheckIsText(const std::string& path, const std::string& source) {
  if (IsUtf8(source)) return {};
  return Error{ErrorCode::kBadInput,
               "source " + path + " is not UTF-8 text, so it cannot be recorded",
               "convert it, for example with iconv"};
}

Status CheckSameDevice(const std::filesystem::path& path, const DeviceInfo& old,
                       const DeviceInfo& now) {
  if (old.name == now.name && old.architecture == now.architecture) return {};
  return NotTheSame(path, "the device " + old.name + " (" + old.architecture + "), this one is " +
                              now.name + " (" + now.architecture + ")");
}

// Lines of one kind together, verdicts by point: neighbours look alike, which compresses well.
std::string SortedLines(const std::string& journal) {
  using Key = std::pair<LineKind, RecordedPoint>;
  std::vector<std::pair<Key, std::string_view>> lines;
  for (size_t at = journal.find('\n') + 1; at < journal.size();) {  // the header is written anew
    const size_t end = journal.find('\n', at) + 1;
    const std::string_view line(journal.data() + at, end - at);
    const auto start = ScanLine(line);
    CHECK(start.has_value());
    lines.emplace_back(Key{start->kind, start->at}, line);
    at = end;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string sorted;
  sorted.reserve(journal.size());
  for (const auto& [key, line] : lines) sorted += line;
  return sorted;
}

std::string NameOf(const BaselineRow& row) {
  return row.space + '\n' + row.name + '\n' + row.layout + '\n' + std::string(Name(row.mode));
}

}  // namespace

Recorder::Recorder(std::filesystem::path path, FileLock lock, LineJournal journal)
    : path_(std::move(path)), lock_(std::move(lock)), journal_(std::move(journal)) {}

Result<std::unique_ptr<Recorder>> Recorder::Open(const std::filesystem::path& path,
                                                 const RecordingHeader& header) {
  if (path.has_parent_path()) TRY(CreateDirectories(path.parent_path()));
  FileLock lock = TRY(FileLock::Acquire(Beside(path, ".lock"), "recording " + path.string(),
                                        std::chrono::milliseconds(0)));
  const std::filesystem::path journal_path = Beside(path, ".journal.jsonl");
  if (std::filesystem::exists(path) && !std::filesystem::exists(journal_path)) {
    const auto finished = TRY(Recording::Read(path));
    TRY(WriteFileAtomic(journal_path, finished->lines()));
  }
  LineJournal journal = TRY(LineJournal::Open(journal_path));
  std::unique_ptr<Recorder> recorder(new Recorder(path, std::move(lock), std::move(journal)));
  TRY(recorder->journal_.empty() ? recorder->Start(header) : recorder->Restore(header));
  return recorder;
}

Status Recorder::Start(const RecordingHeader& header) {
  RecordingHeader first = header;
  first.counts.reset();
  return journal_.Append(LineOf(first));
}

Status Recorder::Restore(const RecordingHeader& header) {
  std::string text = TRY(ReadWholeLines(journal_.path()));
  const auto recording = TRY(Recording::FromLines(journal_.path().string(), std::move(text)));
  TRY(CheckSameDevice(path_, recording->header().device, header.device));
  for (const Protocol& protocol : recording->protocols()) {
    protocols_.emplace(JsonText(ToJson(protocol)), static_cast<int>(protocols_.size()));
  }
  spaces_ = recording->spaces();
  sources_ = recording->SourceHashes();
  candidates_ = recording->Candidates();
  for (const BaselineRow& row : recording->baselines()) baselines_.insert(NameOf(row));
  for (const LineStart& start : recording->verdict_starts()) verdicts_.emplace(start.name);
  memos_ = {recording->memo_keys().begin(), recording->memo_keys().end()};
  earlier_ = recording;
  return {};
}

Result<std::optional<Completed>> Recorder::FindEarlier(const std::string& key) const {
  if (earlier_ == nullptr || !earlier_->HasVerdict(key)) return std::optional<Completed>();
  VerdictLine line = TRY(earlier_->ReadVerdict(key));
  return std::optional<Completed>({key, std::move(line.verdict), line.gpu_seconds});
}

Result<int> Recorder::AddSpace(const SpaceLine& space) {
  const auto known = std::find_if(spaces_.begin(), spaces_.end(), [&space](const SpaceLine& line) {
    return line.space.name() == space.space.name();
  });
  const int index = static_cast<int>(known - spaces_.begin());
  const std::string line = LineOf(index, space);
  if (known == spaces_.end()) {
    TRY(journal_.Append(line));
    spaces_.push_back(space);
  } else if (LineOf(index, *known) != line) {
    return NotTheSame(path_, "other points, task or sizes for space " + space.space.name());
  }
  return index;
}

Result<int> Recorder::AddProtocol(const Protocol& protocol) {
  const std::string body = JsonText(ToJson(protocol));
  const auto known = protocols_.find(body);
  if (known != protocols_.end()) return known->second;
  const int index = static_cast<int>(protocols_.size());
  TRY(journal_.Append(LineOf(index, protocol)));
  protocols_.emplace(body, index);
  return index;
}

Status Recorder::AddCandidate(const RecordedPoint& at, const Candidate& candidate) {
  if (candidates_.contains(at)) return {};
  // Sources come before the candidate that names them, and the candidate before its verdict. So
  // wherever a killed process left the journal, nothing in it refers to what is missing.
  const CandidateText text = TextOf(candidate);
  for (const auto& [path, sha256] : text.sources) {
    if (sources_.contains(sha256)) continue;
    TRY(CheckIsText(path, candidate.sources.at(path)));
    TRY(journal_.Append(LineOf(sha256, candidate.sources.at(path))));
    sources_.insert(sha256);
  }
  TRY(journal_.Append(LineOf(at, text)));
  candidates_.insert(at);
  return {};
}

Status Recorder::Append(int space, const Job& job, const Completed& completed) {
  if (Has(completed.key)) return {};
  const Point point{job.candidate.provenance.family, job.candidate.provenance.config};
  const SpaceLine& line = spaces_.at(static_cast<size_t>(space));
  const int index = line.space.Find(point);
  if (index < 0) {
    return Error{ErrorCode::kInternal,
                 "recording " + path_.string() + ": space " + line.space.name() +
                     " has no point \"" + PointName(point) + "\"",
                 "please report this"};
  }
  const RecordedPoint at{space, index};
  const int protocol = TRY(AddProtocol(job.protocol));
  TRY(AddCandidate(at, job.candidate));
  TRY(journal_.Append(
      LineOf(VerdictLine{completed.key, at, protocol, completed.gpu_seconds, completed.verdict})));
  verdicts_.insert(completed.key);
  // The system has the line by now, so the process's death loses nothing. To wait for the disk at
  // every verdict would cost more than to measure some of them again after a power cut.
  if (MonotonicSeconds() - synced_at_ < kSyncEverySeconds) return {};
  synced_at_ = MonotonicSeconds();
  return journal_.Sync();
}

bool Recorder::HasBaselines(const std::string& space) const {
  const auto first = baselines_.lower_bound(space + '\n');
  return first != baselines_.end() && first->starts_with(space + '\n');
}

Status Recorder::AppendBaseline(const BaselineRow& row) {
  if (!baselines_.insert(NameOf(row)).second) return {};
  return journal_.Append(LineOf(row));
}

Status Recorder::AppendMemo(int space, const std::string& key, const std::string& text) {
  CHECK(key.find_first_of("\"\\") == std::string::npos);
  if (!memos_.emplace(space, key).second) return {};
  TRY(CheckIsText("memo " + key, text));
  return journal_.Append(LineOf(MemoLine{key, space, text}));
}

Status Recorder::Finalize() {
  earlier_.reset();
  const std::string text = TRY(ReadWholeLines(journal_.path()));
  const auto recording = TRY(Recording::FromLines(journal_.path().string(), text));
  RecordingHeader header = recording->header();
  header.counts = recording->Counts();
  TRY(WriteFileAtomic(path_, Compress(LineOf(header) + SortedLines(text), kFinalLevel)));
  std::error_code ignored;  // a journal that stays is read again, and holds the same
  std::filesystem::remove(journal_.path(), ignored);
  std::filesystem::remove(Beside(path_, ".lock"), ignored);
  return {};
}

}  // namespace warpsmith::store
