// The processes that compute a task's references: a runner with the task's own plan, or Python.
#ifndef WARPSMITH_JUDGE_REFERENCES_H_
#define WARPSMITH_JUDGE_REFERENCES_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "core/compiler.h"
#include "core/task.h"
#include "judge/called_process.h"
#include "judge/reference_stage.h"

namespace warpsmith::judge {

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

#endif  // WARPSMITH_JUDGE_REFERENCES_H_
