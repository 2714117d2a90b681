// evaluate --many: a folder of tasks with their candidates, one table.
#ifndef WARPSMITH_TOOLS_EVALUATE_MANY_H_
#define WARPSMITH_TOOLS_EVALUATE_MANY_H_

#include "base/result.h"
#include "core/protocol.h"
#include "options.h"

namespace warpsmith::cli {

Protocol ProtocolOf(const EvaluateOptions& options);

// Under options.many, every folder with a task.toml is a task, and every candidate.toml below it a
// candidate of it (a folder named "current" or "reference" is none). What cannot be loaded is a row
// of the table, not the end. Verdicts go into the store, so that a second run goes on where the
// first one stopped.
Result<int> RunEvaluateMany(const EvaluateOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_EVALUATE_MANY_H_
