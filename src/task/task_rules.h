// What must hold of every task before anything can be said about it. Values that are merely unwise
// are check.h's.
#ifndef WARPSMITH_TASK_TASK_RULES_H_
#define WARPSMITH_TASK_TASK_RULES_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::task {

// kBadInput, one line that names `source`, the field and what to do: an unknown reference kind,
// style, precision or library; a reference without what its kind needs; programs without a
// [program]; rivals whose names are taken; extents that fail for one of the workloads.
Status CheckRules(const std::string& source, const Task& task);

// Baselines that are not rivals: cublas…, cublaslt…, torch, torch-eager, torch-compile, torch-best.
bool IsBuiltInBaseline(std::string_view name);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TASK_RULES_H_
