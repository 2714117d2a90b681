// A run of the agent as a recording: steps, certified finalists, and all that it was told.
#ifndef WARPSMITH_AGENT_RUNS_RUN_RECORDING_H_
#define WARPSMITH_AGENT_RUNS_RUN_RECORDING_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/model_client.h"
#include "base/result.h"
#include "core/protocol.h"
#include "core/store.h"
#include "store/recorded_device.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

// How a recorded run of the agent ended. A replay ends there, too: no recording tells how much time
// or money was left, so it would otherwise ask what was never asked.
struct RecordedEnd {
  int64_t evaluations = 0;  // of its budget
  std::string limit;        // that ended it; empty: nothing was left to try
  std::optional<agent::TokenBudgetEnd> token_budget;  // where tokens or money ran out
};

// The memo that keeps it, written when a run is recorded. Recordings made before there was one hold
// runs that `evals` ended.
inline constexpr const char* kEndKey = "end";
// JSON; equal for equal ends.
std::string TextOf(const RecordedEnd& end);

// What a replay begins with, and all that it takes over when it is recorded itself.
struct RecordedRun {
  std::shared_ptr<const store::Recording> recording;
  std::string space;  // its name there
  Task task;
  Workload workload;
  Protocol protocol;                   // of its steps
  std::optional<Protocol> certifying;  // of its best; none: they were not certified
  int64_t steps = 0;
  RecordedEnd end;
  store::Memos memos;
};

// Every run of the agent in the recordings, in their order; kNotRecorded where there is none.
Result<std::vector<RecordedRun>> RecordedRuns(const store::RecordedDevice& device);

// The first of them on this task and these sizes; kNotRecorded where there is none.
Result<RecordedRun> FindRecordedRun(const store::RecordedDevice& device, const Task& task,
                                    const Workload& workload);

// A step of the run, or of the certification of its best, and how it was judged.
struct JudgedStep {
  Step step;
  Protocol protocol;
};

// kConfig: the file is there already. To be asked before a run, which is recorded at its end.
Status CheckNew(const std::filesystem::path& path);

// Writes a new file. `steps` in order; certified ones after them. A replay names the run that it
// `replayed` (else null): nothing was measured since, so the new file has from the recording when,
// where, with what and at which cost that was done. It is the same file, byte for byte, if the
// replay proposed the same and came to the same verdicts.
Status RecordRun(const std::filesystem::path& path, const RunRecord& run,
                 const std::vector<JudgedStep>& steps, const store::Memos& memos,
                 const RecordedRun* replayed);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_RUNS_RUN_RECORDING_H_
