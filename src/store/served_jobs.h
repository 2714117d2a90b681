// Jobs that a server has taken on, in the store: what was acknowledged is judged, also when the
// server is killed in between; the first verdict that is committed is the answer for good.
// Belongs to the store's thread.
#ifndef WARPSMITH_STORE_SERVED_JOBS_H_
#define WARPSMITH_STORE_SERVED_JOBS_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "store/database_store.h"

namespace warpsmith::store {

struct ServedJob {
  Job job;
  std::string run;   // the client's
  int attempts = 0;  // begun so far
};

// A trainer's sample as it was answered. Texts are the client's names; empty: not given.
struct ServedSample {
  std::string run, task, workload, level;
  std::string group, sample_id, prompt_sha256;
  std::optional<double> logprob_sum;  // of its tokens
  std::string key, outcome;           // no key: no candidate was read
  std::optional<double> ratio, reward;
  Interval interval;                     // of the ratio
  std::optional<Candidate> candidate{};  // of what passed: once a key is enough
};
struct PassedSample {
  std::string key, candidate_id;
  double ratio = 0;
  Interval interval;
};
// How hard a task has been so far.
struct Difficulty {
  int64_t samples = 0, passed = 0;
  int64_t faster = 0;             // than the bar, beyond the noise
  int64_t groups = 0, mixed = 0;  // of the latest groups: whose rewards were not all the same
};

class ServedJobs {
 public:
  // `worker`: ThisWorker(). `store` outlives it. Answers are of this device alone.
  ServedJobs(DatabaseStore& store, DeviceInfo device, std::string worker)
      : store_(store), device_(std::move(device)), worker_(std::move(worker)) {}

  // All of them or none, in one transaction. What is there already stays as it is, but what was
  // inconclusive is judged anew, and what a dead worker holds becomes this one's.
  Status Accept(const std::string& run, std::span<const Job> jobs);
  // In the order in which they came: this worker's, and those of workers that are gone, which
  // become this one's.
  Result<std::vector<ServedJob>> TakeUnfinished();

  // The number of the attempt that begins.
  Result<int> Begin(const std::string& key);
  // The attempt did not begin after all: a server that ends in peace does not count as dead.
  Status PutBack(const std::string& key);
  // One transaction: verdict and state. False: another attempt is under way or was committed; this
  // result is kept aside.
  Result<bool> Finish(const Job& job, int attempt, const Completed& completed);

  enum class State { kUnknown, kQueued, kRunning, kDone };
  struct Found {
    State state = State::kUnknown;
    std::optional<Completed> completed;  // of kDone
    int attempts = 0;                    // begun so far, of what is not done
  };
  Result<Found> Find(const std::string& key);
  // The candidate of a key that is done, for scoring again.
  Result<std::optional<Candidate>> CandidateOf(const std::string& key);

  // In one transaction. A sample that is there already (the same run, group and sample_id) stays as
  // it is.
  Status KeepSamples(std::span<const ServedSample> samples);
  // The latest `most` different ones that passed and were compared.
  Result<std::vector<PassedSample>> PassedSamples(const std::string& task,
                                                  const std::string& workload, Level level,
                                                  int64_t most);
  Result<Candidate> CandidateOfSample(const PassedSample& sample);
  Result<Difficulty> DifficultyOf(const std::string& task, const std::string& workload);

 private:
  Status TakeFromTheDead(const std::string& key);
  DatabaseStore& store_;
  const DeviceInfo device_;
  const std::string worker_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_SERVED_JOBS_H_
