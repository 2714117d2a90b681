// Writes a recording while measuring. Everything appended is in a journal beside the target before
// Append returns; Finalize makes the .wsrec of it. Killed at any instant, the next recorder of the
// same target goes on where this one was. A power cut may take the last second.
#ifndef WARPSMITH_STORE_RECORDER_H_
#define WARPSMITH_STORE_RECORDER_H_

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "core/device.h"
#include "store/line_journal.h"
#include "store/recording.h"
#include "store/recording_format.h"

namespace warpsmith::store {

class Recorder {
 public:
  // Continues the journal of `path`, or extends a finished recording, or starts one. kConfig when
  // what is there was measured on another device; kBusy when another process records to it.
  static Result<std::unique_ptr<Recorder>> Open(const std::filesystem::path& path,
                                                const RecordingHeader& header);
  // The space's index; a space that is there already (by name) must be the same (kConfig).
  Result<int> AddSpace(const SpaceLine& space);
  bool Has(const std::string& key) const { return verdicts_.contains(key); }
  bool HasBaselines(const std::string& space) const;
  // Whether anything was there when this recorder began, and what: it needs not be measured again.
  bool IsContinued() const { return earlier_ != nullptr; }
  Result<std::optional<Completed>> FindEarlier(const std::string& key) const;
  int64_t verdict_count() const { return static_cast<int64_t>(verdicts_.size()); }
  // The job's candidate names its point (provenance.family, config). One that is there is skipped.
  Status Append(int space, const Job& job, const Completed& completed);
  // One that is there (space, name, layout, mode) is skipped.
  Status AppendBaseline(const BaselineRow& row);

  // What the space's run was told from outside. One that is there (space, key) is skipped.
  Status AppendMemo(int space, const std::string& key, const std::string& text);

  // Compresses the journal into the recording and removes it. Call last.
  Status Finalize();

 private:
  Recorder(std::filesystem::path path, FileLock lock, LineJournal journal);
  Status Restore(const RecordingHeader& header);
  Status Start(const RecordingHeader& header);
  Result<int> AddProtocol(const Protocol& protocol);
  Status AddCandidate(const RecordedPoint& at, const Candidate& candidate);

  std::filesystem::path path_;
  FileLock lock_;
  LineJournal journal_;
  double synced_at_ = 0;  // MonotonicSeconds()
  std::shared_ptr<const Recording> earlier_;
  // What the journal holds.
  std::map<std::string, int> protocols_;  // JSON -> index
  std::vector<SpaceLine> spaces_;
  std::set<std::string> sources_, verdicts_, baselines_;
  std::set<RecordedPoint> candidates_;
  std::set<std::pair<int, std::string>> memos_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_RECORDER_H_
