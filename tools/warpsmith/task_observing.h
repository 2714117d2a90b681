// What a GPU shows of a task, for `task check`.
#ifndef WARPSMITH_TOOLS_TASK_OBSERVING_H_
#define WARPSMITH_TOOLS_TASK_OBSERVING_H_

#include "base/result.h"
#include "core/task_observations.h"
#include "judge/local_device.h"

namespace warpsmith::cli {

// Runs the reference on `device`. Trouble that is the task's own (its reference fails, nothing
// fits) is an observation; trouble of the machine is an Error.
Result<TaskObservations> ObserveTask(judge::LocalDevice& device, const Task& task,
                                     const Workload& workload);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_TASK_OBSERVING_H_
