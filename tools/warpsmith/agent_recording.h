// A run of the agent as a recording: steps, certified finalists, and all that it was told.
#ifndef WARPSMITH_TOOLS_AGENT_RECORDING_H_
#define WARPSMITH_TOOLS_AGENT_RECORDING_H_

#include <filesystem>
#include <string>
#include <vector>

#include "core/store.h"
#include "store/recorded_device.h"
#include "store/run_memos.h"
#include "util/result.h"

namespace warpsmith::cli {

// What a replay begins with.
struct RecordedRun {
  Task task;
  Workload workload;
  int64_t steps = 0;
  store::Memos memos;
};

// The run that the recordings hold for this task and these sizes; kNotRecorded where there is none.
Result<RecordedRun> FindRecordedRun(const store::RecordedDevice& device, const Task& task,
                                    const Workload& workload);

// A step of the run, or of the certification of its best, and how it was judged.
struct JudgedStep {
  Step step;
  Protocol protocol;
};

// Writes a new file. `steps` in order; certified ones after them.
Status RecordRun(const std::filesystem::path& path, const RunRecord& run,
                 const std::vector<JudgedStep>& steps, const store::Memos& memos);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGENT_RECORDING_H_
