// The trusted half of the judge: inputs, references, verdicts. One per process and device.
#ifndef WARPSMITH_JUDGE_ORACLE_H_
#define WARPSMITH_JUDGE_ORACLE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "core/compiler.h"
#include "core/device.h"
#include "cuda/nvml.h"
#include "judge/called_process.h"
#include "judge/contest.h"
#include "judge/library_contest.h"
#include "judge/local_device.h"
#include "judge/oracle_device.h"
#include "judge/runners.h"
#include "judge/stages.h"

namespace warpsmith::judge {

// What needs no device to be refused: forms and modes that do not fit, and what a kernel's image
// shows.
std::optional<Outcome> RefuseWithoutDevice(const Job& job);

// Not thread-safe: everything happens in the thread that opened it.
class Oracle {
 public:
  // `options` name every command line, and a compiler that outlives the oracle.
  static Result<std::unique_ptr<Oracle>> Open(const LocalDeviceOptions& options,
                                              const cuda::DeviceProperties& device);

  const DeviceInfo& info() const { return info_; }

  // Errors are the device's: it is lost. Trouble with this job alone is an Inconclusive.
  Result<Verdict> Judge(const Job& job);
  // It will be asked for soon: what imports PyTorch for it starts now, which takes seconds and no
  // GPU.
  void Expect(const Job& job);

  // Returns when nothing of it is starting on the GPU: whoever measures next would be disturbed.
  // A runner that does not start is dropped; Judge starts another.
  void Settle() { static_cast<void>(runners_.Settle()); }

  // What a library's baseline comes to in each of the request's modes: known, or chosen here by a
  // contest under the judge's protocol, and kept on disk.
  Result<ModeChoices> Choose(const Task& task, const Workload& workload,
                             const ChoiceRequest& request);

  // The name of a trivial answer (zeros, a constant, a copy) that the task's check takes for right.
  Result<std::optional<std::string>> DegenerateAnswer(const Task& task, const Workload& workload);

 private:
  Oracle(LocalDeviceOptions options, DeviceInfo info, std::unique_ptr<OracleDevice> device);
  ContestContext ContextOf(const Job& job, Stage& stage, Evidence& evidence);
  Result<Artifact> CompileProgram(const Job& job, const Candidate& candidate);
  Result<Outcome> JudgeJob(const Job& job, Evidence& evidence);
  Result<std::unique_ptr<ReferenceProcess>> StartReference(const Task& task,
                                                           const Workload& workload,
                                                           const ResolvedTask& problem);

  // What certifies beyond checks and times: the first finding turns a pass into a rejection.
  Result<Outcome> Audit(const Job& job, Passed passed);
  // Where the task names PyTorch or a program as a baseline: the plan's calls beside it, as one
  // mode more, the first. The outcome, where that fails.
  StepResult CompareOnTheWall(const Job& job, Stage& stage, Evidence& evidence, Passed& passed);
  Result<Outcome> JudgeProgram(const Job& job, Stage& stage, Evidence& evidence);
  Result<ProcessOptions> TorchPeer() const;
  Result<std::unique_ptr<CalledProcess>> StartTorch();
  Status KeepSpareTorch(size_t count);

  LocalDeviceOptions options_;
  DeviceInfo info_;
  std::unique_ptr<OracleDevice> device_;
  std::optional<cuda::TelemetryReader> telemetry_;
  Random random_;
  Stages stages_;
  // Importing PyTorch takes seconds. Processes that have begun to, and have seen no task; the
  // oldest first.
  std::deque<std::unique_ptr<CalledProcess>> spare_torch_;
  int torch_references_ = 0;  // started so far
  Runners runners_;           // after stages_: gone before the arenas' references
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ORACLE_H_
