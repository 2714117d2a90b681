// A recording that was read: its text in memory, an index into it, lines parsed when asked for.
#ifndef WARPSMITH_STORE_RECORDING_H_
#define WARPSMITH_STORE_RECORDING_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/recording_format.h"

namespace warpsmith::store {

// Immutable after reading, so any number of threads may look things up.
class Recording {
 public:
  // A .wsrec file. kVersion: another format. kBadInput: cut off or damaged, with the line.
  static Result<std::shared_ptr<const Recording>> Read(const std::filesystem::path& path);
  // Uncompressed lines, as a journal holds them; no counts are needed. `name` goes into errors.
  static Result<std::shared_ptr<const Recording>> FromLines(std::string name, std::string lines);

  const std::string& name() const { return name_; }
  const std::string& lines() const { return text_; }
  const RecordingHeader& header() const { return header_; }
  const std::vector<Protocol>& protocols() const { return protocols_; }
  const std::vector<SpaceLine>& spaces() const { return spaces_; }
  const std::vector<BaselineRow>& baselines() const { return baselines_; }

  size_t verdict_count() const { return verdicts_.size(); }
  bool HasVerdict(const std::string& key) const { return verdicts_.contains(key); }
  bool HasCandidate(const RecordedPoint& at) const { return candidates_.contains(at); }
  std::set<RecordedPoint> Candidates() const;
  std::set<std::string> SourceHashes() const;
  // In file order: where each verdict belongs and under which protocol.
  const std::vector<LineStart>& verdict_starts() const { return verdict_starts_; }

  // (space, key) of every memo, in file order.
  const std::vector<std::pair<int, std::string>>& memo_keys() const { return memo_keys_; }
  // Of one space, by key.
  Result<std::map<std::string, std::string>> ReadMemos(int space) const;

  Result<VerdictLine> ReadVerdict(const std::string& key) const;
  // Made of the recording's own sources; provenance names the point.
  Result<Candidate> ReadCandidate(const RecordedPoint& at) const;
  RecordingCounts Counts() const;

 private:
  struct Line {
    size_t offset = 0, length = 0;
    int number = 0;  // from 1
  };

  Recording(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  Status Index();
  Status IndexLine(const Line& line);
  Status IndexVerdict(const Line& line, const LineStart& start);
  Status IndexMemo(const Line& line, const LineStart& start);
  Status CheckReferences() const;
  std::string_view TextOf(const Line& line) const;
  std::string PlaceOf(const Line& line) const;
  Error Damaged(const Line& line, std::string_view what) const;
  Result<std::string> ReadSource(const std::string& sha256) const;

  std::string name_;
  std::string text_;
  RecordingHeader header_;
  std::vector<Protocol> protocols_;
  std::vector<SpaceLine> spaces_;
  std::vector<BaselineRow> baselines_;
  std::unordered_map<std::string, Line> sources_, verdicts_;
  std::map<RecordedPoint, Line> candidates_;
  std::map<std::pair<int, std::string>, Line> memos_;  // by space and key
  std::vector<std::pair<int, std::string>> memo_keys_;
  std::vector<LineStart> verdict_starts_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_RECORDING_H_
