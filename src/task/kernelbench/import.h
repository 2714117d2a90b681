// Imports a checkout of KernelBench or KernelBench-CUDA: a task folder a problem, in the user's own
// place. Nothing of those sets is part of warpsmith. docs/tasks.md.
#ifndef WARPSMITH_TASK_KERNELBENCH_IMPORT_H_
#define WARPSMITH_TASK_KERNELBENCH_IMPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith::kernelbench {

struct ImportOptions {
  std::string checkout;
  std::string output;             // the folder that gets kernelbench-<set>/level1/...
  std::string modules;            // drivers: a KernelBench checkout to take torch baselines from
  std::vector<std::string> only;  // "level1", "level1/19", "level1/19_ReLU"; none: all
  std::string set;                // the size set's name; empty: found out
  std::string dtype;  // KernelBench: of all floating tensors; empty: as the file has them
  int jobs = 1;
  int limit_seconds = 360;  // of one driver, compiling and running
};

struct ImportRow {
  std::string problem;  // "level1/19_ReLU"
  std::string result;   // "imported", "kept" (its folder was there) or "refused"
  std::string reason;   // why it was refused; what is worth knowing of the others
  std::string folder;
  int64_t bytes = 0;  // of all tensors
};

struct ImportResult {
  std::string set;  // "kernelbench-1a2b3c4d"
  std::vector<ImportRow> rows;
};

// Problems are code: a Python reads each in a process of its own (warpsmith_import). What that
// Python says is written to task.toml files here, and read back as any task is. One refused problem
// never stops the others; kInterrupted keeps what is there; kUnavailable without a Python with
// torch. `report` is called for each row when it is known.
Result<ImportResult> Import(const ImportOptions& options,
                            const std::function<void(const ImportRow&)>& report);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_IMPORT_H_
