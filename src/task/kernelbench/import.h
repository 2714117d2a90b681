// Imports a checkout of KernelBench or KernelBench-CUDA: a task folder a problem, in the user's own
// place. Nothing of those sets is part of warpsmith. docs/tasks.md.
#ifndef WARPSMITH_TASK_KERNELBENCH_IMPORT_H_
#define WARPSMITH_TASK_KERNELBENCH_IMPORT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/dtype.h"

namespace warpsmith::kernelbench {

struct ImportOptions {
  std::filesystem::path checkout;
  std::filesystem::path output;   // the folder that gets kernelbench-<set>/level1/...
  std::filesystem::path modules;  // drivers: a KernelBench checkout to take torch baselines from
  std::vector<std::string> only;  // patterns of IsPickedBy; none: all
  std::string set;                // the size set's name; empty: found out
  std::optional<DType> dtype;     // KernelBench: of all floating tensors; else as the file has them
  int jobs = 1;
  int limit_seconds = 360;  // of one driver, compiling and running
};

enum class Outcome : uint8_t { kImported, kKept, kRefused };  // kKept: its folder was there

struct ImportRow {
  std::string problem;  // "level1/19_ReLU"
  Outcome outcome = Outcome::kRefused;
  std::string text;  // why it was refused; what is worth knowing of the others
  std::string folder;
  int64_t bytes = 0;  // of all tensors
};

struct ImportResult {
  std::string set;  // "kernelbench-1a2b3c4d"
  std::vector<ImportRow> rows;
};

// One refused problem never stops the others; kInterrupted keeps what is there. `report` is called
// for each row when it is known, from one thread at a time.
Result<ImportResult> Import(const ImportOptions& options,
                            const std::function<void(const ImportRow&)>& report);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_IMPORT_H_
