// A task's own CUDA reference: its plan, launched by a runner of its own.
#ifndef WARPSMITH_JUDGE_CUDA_REFERENCE_H_
#define WARPSMITH_JUDGE_CUDA_REFERENCE_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "core/compiler.h"
#include "core/task.h"
#include "judge/called_process.h"
#include "judge/reference_provider.h"
#include "judge/reference_stage.h"

namespace warpsmith::judge {

// The device code of a task's reference, as something to compile. Its entry is the option "entry",
// or the only source.
Candidate ReferenceCandidate(const Task& task);

// Compiles it, starts a runner and hands it the stage. kBadInput where the reference does not
// compile or its plan does not fit.
Result<std::unique_ptr<ReferenceProvider>> StartCudaReference(
    const Task& task, const Workload& workload, const ReferenceStage& stage, Compiler& compiler,
    const std::string& architecture, const ProcessOptions& runner);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CUDA_REFERENCE_H_
