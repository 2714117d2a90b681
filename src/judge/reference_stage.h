// Who computes the expected outputs of a task whose reference is not built in, and the memory through
// which it does so.
#ifndef WARPSMITH_JUDGE_REFERENCE_STAGE_H_
#define WARPSMITH_JUDGE_REFERENCE_STAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"
#include "core/task.h"
#include "cuda/shared_memory.h"
#include "judge/called_process.h"
#include "judge/oracle_device.h"
#include "judge/resolved_task.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

// The memory through which the oracle and a reference process exchange inputs and expected outputs:
// one exact mapping for each tensor, outputs in the type that the reference gives.
class ReferenceStage {
 public:
  static Result<ReferenceStage> Create(const OracleDevice& device, const ResolvedTask& problem);

  uint64_t AddressOf(size_t role) const { return regions_.at(role).AddressOf(0); }
  int64_t BytesOf(size_t role) const { return regions_.at(role).bytes; }
  // For the process: regions relative to their mappings, mapped sizes, descriptors (the caller
  // closes them), by role.
  std::vector<Region> regions() const;
  std::vector<int64_t> mapped_bytes() const;
  Result<std::vector<int>> Export() const;

 private:
  ReferenceStage() = default;
  std::vector<cuda::PhysicalMemory> memory_;
  std::vector<cuda::Mapping> mappings_;
  std::vector<Region> regions_;
};

// Seam. It works in a process of its own, which never holds a candidate.
//
// Reads and writes the stage that it was made for. Returns when the device is
// done. Errors say what failed in the reference, for a person: it is the task's author's.
class ReferenceProvider {
 public:
  virtual ~ReferenceProvider() = default;
  // The expected outputs of the inputs on the stage.
  virtual Status Expect() = 0;
  // New inputs from this seed, and their expected outputs.
  virtual Status Draw(uint64_t seed) = 0;
  // How the newest answer was computed, where that is not the provider's to choose freely:
  // "computed in f32; not in f64: ...".
  virtual std::string About() const { return ""; }
};

// The processes that compute a task's references: a runner with the task's own plan, or Python.

// The device code of a task's CUDA reference, as something to compile. Its entry is the option
// "entry", or the only source.
Candidate ReferenceCandidate(const Task& task);

// Compiles it, starts a runner and hands it the stage. kBadInput where the reference does not
// compile or its plan does not fit.
Result<std::unique_ptr<ReferenceProvider>> StartCudaReference(
    const Task& task, const Workload& workload, const ReferenceStage& stage, Compiler& compiler,
    const std::string& architecture, const ProcessOptions& runner);

// PyTorch, or a reference program's process: gives the stage to a Python that has been told to
// start. Errors name the reference's own trouble.
Result<std::unique_ptr<ReferenceProvider>> StartPythonReference(
    std::unique_ptr<CalledProcess> python, const Task& task, const Workload& workload,
    const ReferenceStage& stage);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_REFERENCE_STAGE_H_
