// A Device that answers from recordings: the stored verdict with its evidence, or a refusal that
// says what the recordings do hold. It never guesses.
#ifndef WARPSMITH_STORE_RECORDED_DEVICE_H_
#define WARPSMITH_STORE_RECORDED_DEVICE_H_

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/device.h"
#include "core/space.h"
#include "store/recording.h"

namespace warpsmith::store {

// A space that can be replayed: its recorded points, and their candidates made of the recording's
// own sources, so that a replay does not depend on today's kernels.
struct ReplaySpace {
  Task task;
  Workload workload;
  Space space;                      // only points that have a verdict
  CandidateMaker make;              // kNotRecorded for any other point
  std::vector<Protocol> protocols;  // under which there are verdicts
  int64_t verdicts = 0;
};

// kUnavailable: there is no GPU here, which `what` needs; the ways to one.
Error NeedsGpu(const std::string& what);

class RecordedDevice : public Device {
 public:
  // A .wsrec file, or a folder of them, merged; where two answer the same, the first by name does.
  // Or a bundle with results.
  // kConfig when they were measured on different kinds of devices.
  static Result<std::unique_ptr<RecordedDevice>> Open(const std::filesystem::path& path);
  // The same of recordings that were read before; `origin` becomes the device's.
  static Result<std::unique_ptr<RecordedDevice>> Of(
      std::vector<std::shared_ptr<const Recording>> recordings, std::string origin);

  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override;
  // In submission order. A job that was never recorded is an Error once those before it are
  // delivered; it is dropped then. The Error says what is wrong with its plan, if anything is.
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) override;

  // It was taken because there is no GPU: a task that no recording knows is told so (NeedsGpu).
  void StandInForGpu() { stands_in_ = true; }
  bool stands_in() const { return stands_in_; }

  // The answer to one key, without the queue. Thread-safe.
  Result<Completed> LookUp(const std::string& key) const;
  // Whose verdict that is.
  Result<Candidate> CandidateOf(const std::string& key) const;
  bool Has(const std::string& key) const { return sources_.contains(key); }
  // Of a job that it does not have. Rejected: its plan cannot be carried out for the workload, as a
  // judge with a GPU would find. Else Inconclusive.
  Outcome Unmeasured(const Job& job) const;

  const std::vector<ReplaySpace>& Spaces() const { return spaces_; }
  // The first of a task with these sizes; null: no recording has it.
  const ReplaySpace* FindSpace(std::string_view task, const Sizes& sizes) const;
  const std::vector<BaselineRow>& Baselines() const { return baselines_; }
  const std::vector<std::shared_ptr<const Recording>>& Recordings() const { return recordings_; }

 private:
  RecordedDevice() = default;
  Status CheckKeys() const;
  Error NotRecorded(const Job& job) const;

  DeviceInfo info_;
  std::vector<std::shared_ptr<const Recording>> recordings_;
  std::unordered_map<std::string, const Recording*> sources_;  // key -> where it is
  std::vector<ReplaySpace> spaces_;
  std::vector<BaselineRow> baselines_;
  std::deque<Job> pending_;
  bool stands_in_ = false;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_RECORDED_DEVICE_H_
