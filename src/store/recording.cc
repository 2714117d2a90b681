#include "store/recording.h"

#include <future>
#include <nlohmann/json.hpp>

#include "base/compression.h"
#include "base/foreign_file.h"
#include "base/sha256.h"

namespace warpsmith::store {
namespace {

constexpr size_t kMaxRecordingBytes = size_t{1} << 30;
constexpr size_t kMaxTextBytes = size_t{1} << 30;
constexpr size_t kMostThreads = 16;
constexpr auto kWhereItCan = std::launch::async | std::launch::deferred;
constexpr std::string_view kFix = "the file is damaged; fetch it again, or record again";

// Calls `parse` with a reader of the line's JSON.
template <typename Parse>
auto WithLine(const std::string& place, std::string_view text, Parse parse)
    -> decltype(parse(std::declval<const JsonReader&>())) {
  const nlohmann::json json = TRY(ParseJson(place, text));
  return parse(JsonReader(place, json));
}

}  // namespace

Result<std::shared_ptr<const Recording>> Recording::Read(const std::filesystem::path& path) {
  const std::string bytes = TRY(ReadRegularFile(path, kMaxRecordingBytes));
  std::string text = TRY(Decompress(path.string(), bytes, kMaxTextBytes));
  std::shared_ptr<const Recording> recording = TRY(FromLines(path.string(), std::move(text)));
  // Each line is held to what it says of itself. That a whole line is missing shows in the header's
  // counts alone.
  const auto& counts = recording->header_.counts;
  if (!counts.has_value() || *counts != recording->Counts()) {
    return Error{ErrorCode::kBadInput,
                 path.string() + ": its lines are not as many as line 1 says (it holds " +
                     std::to_string(recording->verdict_count()) + " verdicts)",
                 std::string(kFix)};
  }
  return recording;
}

Result<std::shared_ptr<const Recording>> Recording::FromLines(std::string name, std::string lines) {
  std::shared_ptr<Recording> recording(new Recording(std::move(name), std::move(lines)));
  TRY(recording->Index());
  return std::shared_ptr<const Recording>(recording);
}

Status Recording::Index() {
  Line line;
  std::vector<std::future<Result<SpaceLine>>> spaces;  // long lines, read beside the others
  while (line.offset < text_.size()) {
    const size_t end = text_.find('\n', line.offset);
    line.number += 1;
    if (end == std::string::npos) return Damaged(line, "the last line has no end");
    line.length = end - line.offset;
    TRY(IndexLine(line));
    if (spaces.size() < spaces_.size()) {
      const auto read = [place = PlaceOf(line), text = TextOf(line),
                         index = static_cast<int>(spaces.size())] {
        return WithLine(place, text,
                        [index](const JsonReader& json) { return SpaceLineFrom(json, index); });
      };
      const bool is_many = spaces.size() >= kMostThreads;
      spaces.push_back(std::async(is_many ? std::launch::deferred : kWhereItCan, read));
    }
    line.offset = end + 1;
  }
  if (line.number == 0) return Damaged({0, 0, 1}, "there is no line");
  for (size_t i = 0; i < spaces.size(); ++i) spaces_[i] = TRY(spaces[i].get());
  return CheckReferences();
}

Status Recording::IndexLine(const Line& line) {
  // Of a verdict, a candidate or a source only the line's start is read here. The rest is parsed
  // when it is asked for, so a large recording opens quickly.
  const auto start = ScanLine(TextOf(line));
  const bool header_expected = line.number == 1;
  if (!start.has_value() || (start->kind == LineKind::kHeader) != header_expected) {
    return Damaged(
        line, header_expected ? "expected a recording's header" : "expected a recording's line");
  }
  const std::string place = PlaceOf(line);
  const std::string_view text = TextOf(line);
  switch (start->kind) {
    case LineKind::kHeader:
      header_ = TRY(WithLine(place, text, HeaderFrom));
      return {};
    case LineKind::kProtocol:
      protocols_.push_back(TRY(WithLine(place, text, [this](const JsonReader& json) {
        return ProtocolLineFrom(json, static_cast<int>(protocols_.size()));
      })));
      return {};
    case LineKind::kSpace:
      spaces_.emplace_back();  // Index reads it
      return {};
    case LineKind::kBaseline:
      baselines_.push_back(TRY(WithLine(place, text, BaselineLineFrom)));
      return {};
    case LineKind::kSource:
      sources_.emplace(start->name, line);
      return {};
    case LineKind::kCandidate:
      candidates_.emplace(start->at, line);
      return {};
    case LineKind::kVerdict:
      return IndexVerdict(line, *start);
    case LineKind::kMemo:
      return IndexMemo(line, *start);
  }
  return {};
}

Status Recording::IndexVerdict(const Line& line, const LineStart& start) {
  if (!verdicts_.emplace(start.name, line).second) {
    return Damaged(line, "verdict " + std::string(start.name) + " is there twice");
  }
  verdict_starts_.push_back(start);
  return {};
}

Status Recording::IndexMemo(const Line& line, const LineStart& start) {
  std::pair<int, std::string> key(start.at.space, start.name);
  if (!memos_.emplace(key, line).second) {
    return Damaged(line, "memo " + std::string(start.name) + " is there twice");
  }
  memo_keys_.push_back(std::move(key));
  return {};
}

// Lines refer to each other in any order, so this is looked at last.
Status Recording::CheckReferences() const {
  for (const LineStart& start : verdict_starts_) {
    const auto space = static_cast<size_t>(start.at.space);
    const bool whole = space < spaces_.size() &&
                       static_cast<size_t>(start.at.point) < spaces_[space].space.size() &&
                       static_cast<size_t>(start.protocol) < protocols_.size() &&
                       HasCandidate(start.at);
    if (whole) continue;
    const Line& line = verdicts_.at(std::string(start.name));
    return Damaged(line, "the verdict's space, point, candidate or protocol is not in the file");
  }
  for (const auto& [at, line] : memos_) {
    if (static_cast<size_t>(at.first) >= spaces_.size()) {
      return Damaged(line, "the memo's space is not in the file");
    }
  }
  return {};
}

std::string_view Recording::TextOf(const Line& line) const {
  return std::string_view(text_).substr(line.offset, line.length);
}

std::string Recording::PlaceOf(const Line& line) const {
  return name_ + ", line " + std::to_string(line.number);
}

Error Recording::Damaged(const Line& line, std::string_view what) const {
  return {ErrorCode::kBadInput, PlaceOf(line) + ": " + std::string(what), std::string(kFix)};
}

Result<VerdictLine> Recording::ReadVerdict(const std::string& key) const {
  const auto found = verdicts_.find(key);
  if (found == verdicts_.end()) {
    return Error{ErrorCode::kNotRecorded, name_ + " holds no verdict " + key, ""};
  }
  return WithLine(PlaceOf(found->second), TextOf(found->second), VerdictLineFrom);
}

Result<Candidate> Recording::ReadCandidate(const RecordedPoint& at) const {
  const auto found = candidates_.find(at);
  if (found == candidates_.end()) {
    return Error{ErrorCode::kNotRecorded,
                 name_ + " holds no candidate of point " + std::to_string(at.point) + " of space " +
                     std::to_string(at.space),
                 ""};
  }
  Candidate candidate =
      TRY(WithLine(PlaceOf(found->second), TextOf(found->second), [this](const JsonReader& line) {
        return CandidateOf(line.At("body"),
                           [this](const std::string& sha256) { return ReadSource(sha256); });
      }));
  const auto space = static_cast<size_t>(at.space), index = static_cast<size_t>(at.point);
  if (space >= spaces_.size() || index >= spaces_[space].space.points().size()) {
    return Error{
        ErrorCode::kBadInput,
        PlaceOf(found->second) + ": the candidate is of no point of the recording's spaces",
        "copy the recording again"};
  }
  const Point& point = spaces_[space].space.points()[index];
  candidate.provenance.family = point.family;
  candidate.provenance.config = point.config;
  return candidate;
}

Result<std::map<std::string, std::string>> Recording::ReadMemos(int space) const {
  std::map<std::string, std::string> texts;
  for (auto at = memos_.lower_bound({space, ""}); at != memos_.end(); ++at) {
    if (at->first.first != space) break;
    const Line& line = at->second;
    MemoLine memo = TRY(WithLine(PlaceOf(line), TextOf(line), MemoLineFrom));
    texts.emplace(std::move(memo.key), std::move(memo.text));
  }
  return texts;
}

Result<std::string> Recording::ReadSource(const std::string& sha256) const {
  const auto found = sources_.find(sha256);
  if (found == sources_.end()) {
    return Error{ErrorCode::kBadInput, name_ + " lacks source " + sha256, std::string(kFix)};
  }
  const Line& line = found->second;
  std::string text = TRY(WithLine(PlaceOf(line), TextOf(line), SourceLineFrom));
  if (Sha256Hex(text) != sha256) return Damaged(line, "the source's text has another hash");
  return text;
}

std::set<RecordedPoint> Recording::Candidates() const {
  std::set<RecordedPoint> points;
  for (const auto& [at, line] : candidates_) points.insert(at);
  return points;
}

std::set<std::string> Recording::SourceHashes() const {
  std::set<std::string> hashes;
  for (const auto& [sha256, line] : sources_) hashes.insert(sha256);
  return hashes;
}

RecordingCounts Recording::Counts() const {
  const auto count = [](const auto& items) { return static_cast<int64_t>(items.size()); };
  return {count(protocols_), count(sources_),   count(spaces_), count(candidates_),
          count(verdicts_),  count(baselines_), count(memos_)};
}

}  // namespace warpsmith::store
