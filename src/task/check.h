// Is a task worth measuring? What is wrong with it, each with a name and how to mend it.
// docs/tasks.md lists them.
#ifndef WARPSMITH_TASK_CHECK_H_
#define WARPSMITH_TASK_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::task {

enum class Severity : uint8_t {
  kNote,            // good to know
  kOutOfHeadlines,  // judged, but a speedup on it says little: headline = false
  kRefuse,          // cannot be judged, or anything would pass
};
std::string_view Name(Severity severity);  // "note", "out-of-headlines", "refuse"

struct TaskFinding {
  std::string name;  // "zero-friendly", "launch-bound", ...
  Severity severity = Severity::kNote;
  std::string what;  // where and what, with the numbers
  std::string fix;
};

// What the task's own text shows, without a device. `sm_count`: of the device whose launch plans
// are meant.
std::vector<TaskFinding> ExamineText(const Task& task, int sm_count = 132);

// What was seen on a device, for one workload.
std::vector<TaskFinding> Examine(const Task& task, const TaskObservations& observations);

// The most severe; kNote when there is none.
Severity Worst(const std::vector<TaskFinding>& findings);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_CHECK_H_
