// Seam: append-only facts. docs/files.md.
#ifndef WARPSMITH_CORE_STORE_H_
#define WARPSMITH_CORE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "core/step.h"

namespace warpsmith {

struct RunRecord {
  std::string id;       // given by the caller; unique
  std::string command;  // argv, for a person
  Task task;
  Workload workload;
  Protocol protocol;
  std::string proposer;
  uint64_t seed = 0;
  int batch = 1;  // proposals a generation
  DeviceInfo device;
  std::string space;  // the space's name, or empty
};

// One unit of work. `attempt` is the fencing token: a result with a stale one is refused.
struct JobLease {
  int64_t job = 0;
  int attempt = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // kConfig: a run of this id is there already.
  virtual Status BeginRun(const RunRecord& run) = 0;
  virtual Result<std::optional<RunRecord>> FindRun(const std::string& run_id) = 0;
  virtual Result<std::vector<RunRecord>> Runs() = 0;  // in the order in which they were begun

  // Leases the job of step `index` of a run (made on first use; a dead worker's lease is taken over
  // with attempt + 1).
  virtual Result<JobLease> LeaseJob(const std::string& run_id, int64_t index,
                                    const std::string& key, const std::string& worker) = 0;
  // One transaction: candidate, artifact facts, verdict, samples, step, job done. kBusy when fenced
  // off by a newer attempt; nothing is written then.
  virtual Status FinishStep(const std::string& run_id, const JobLease& lease,
                            const std::string& key, const Step& step) = 0;
  // The finished steps of a run that is there, by index. An Error where one of them is damaged.
  virtual Result<std::vector<Step>> Steps(const std::string& run_id) = 0;

  // The evaluator's cache: a verdict measured under this key, on this device (uuid) if given.
  virtual Result<std::optional<Completed>> FindVerdict(const std::string& key,
                                                       const std::string& device_uuid) = 0;
  // A verdict that came from elsewhere (a bundle). False: it was there before.
  virtual Result<bool> ImportVerdict(const Job& job, const Completed& completed) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_STORE_H_
