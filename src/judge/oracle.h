// The trusted half of the judge: inputs, references, verdicts. One per process and device.
#ifndef WARPSMITH_JUDGE_ORACLE_H_
#define WARPSMITH_JUDGE_ORACLE_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/compiler.h"
#include "core/device.h"
#include "cuda/nvml.h"
#include "judge/library_contest.h"
#include "judge/oracle_device.h"
#include "judge/peer_process.h"
#include "judge/runner_process.h"
#include "judge/stages.h"
#include "judge/trial.h"

namespace warpsmith::judge {

// What it needs to open; the kernels are BuildJudgeKernels' cubin for the device's architecture.
struct OracleOptions {
  cuda::DeviceProperties device;
  std::string kernels;
  std::vector<std::string> runner_argv, program_argv, standalone_argv;
  bool sandboxed = true;                    // false: programs run with all that the user may do
  Compiler* compiler = nullptr;             // for references and rivals; outlives the oracle
  std::vector<std::string> libraries = {};  // that baselines "lib:PATH" may name
};

// What needs no device to be refused: forms and modes that do not fit, and what a kernel's image
// shows.
std::optional<Outcome> RefuseUnseen(const Job& job);

// Not thread-safe: everything happens in the thread that opened it.
class Oracle {
 public:
  static Result<std::unique_ptr<Oracle>> Open(const OracleOptions& options);

  const DeviceInfo& info() const { return info_; }

  // Errors are the device's: it is lost. Trouble with this job alone is an Inconclusive.
  Result<Verdict> Judge(const Job& job);
  // It will be asked for soon: what imports PyTorch for it starts now, which takes seconds and no
  // GPU.
  void Expect(const Job& job);

  // Returns when nothing of it is starting on the GPU: whoever measures next would be disturbed.
  // A runner that does not start is dropped; Judge starts another.
  void Settle() { static_cast<void>(pool_.Settle()); }

  // What a library's baseline comes to in each of the request's modes: known, or chosen here by a
  // contest under the judge's protocol, and kept on disk.
  Result<ModeChoices> Choose(const Task& task, const Workload& workload,
                             const ChoiceRequest& request);

  // The name of a trivial answer (zeros, a constant, a copy) that the task's check takes for right.
  Result<std::optional<std::string>> DegenerateAnswer(const Task& task, const Workload& workload);

 private:
  Oracle(OracleOptions options, DeviceInfo info, std::unique_ptr<OracleDevice> device);
  RunnerOptions runner_options() const;
  Result<Artifact> CompileProgram(const Job& job, const Candidate& candidate);
  Result<Outcome> JudgeJob(const Job& job, Evidence& evidence);
  Result<std::unique_ptr<ReferenceProcess>> StartReference(const Task& task,
                                                           const Workload& workload,
                                                           const Problem& problem);

  // What certifies beyond checks and times: the first finding turns a pass into a rejection.
  Result<Outcome> Audit(const Job& job, Passed passed);
  // PyTorch's modules and programs launch what they like: they are timed on the wall clock only.
  static bool IsOnTheWall(const Task& task, const std::string& baseline);
  // Where the task names PyTorch or a program as a baseline: the plan's calls beside it, as one
  // mode more, the first. The outcome, where that fails.
  StepResult CompareOnTheWall(const Job& job, Stage& stage, Evidence& evidence, Passed& passed);
  Result<Outcome> JudgeProgram(const Job& job, Stage& stage, Evidence& evidence);
  Result<PeerOptions> TorchPeer() const;
  Result<std::unique_ptr<PeerProcess>> StartTorch();
  Status KeepSpareTorch(size_t count);

  // Kernels: kernel_rounds.cc.
  Result<Outcome> Measure(const Job& job, Stage& stage, Evidence& evidence);
  // Load, check (in the first process), warm up.
  StepResult Enter(const Job& job, Stage& stage, Trial& trial, int process);
  StepResult RunRounds(const Job& job, Trial& trial, int process, int& rounds);

  // Sees to runner_: the shared one goes on for screened jobs, others get a fresh one.
  Status ReadyRunner(const Protocol& protocol, Stage& stage);
  Status MapArena(Stage& stage);
  // Everyone who takes part, with the baselines ready in the runner.
  Result<std::vector<ContenderSpec>> Contenders(const Job& job, Stage& stage, Evidence& evidence);
  Result<ContenderSpec> Baseline(const Job& job, Stage& stage, const std::string& name,
                                 Evidence& evidence);
  Result<ContenderSpec> LibraryBaseline(const Job& job, Stage& stage, const std::string& name,
                                        Evidence& evidence);
  // For the runner that has the stage's arena mapped.
  Result<ModeChoices> ChoicesOf(Stage& stage, const ChoiceRequest& request);
  Result<ContenderSpec> RivalBaseline(Stage& stage, const Rival& rival);

  OracleOptions options_;
  DeviceInfo info_;
  std::unique_ptr<OracleDevice> device_;
  std::optional<cuda::TelemetryReader> telemetry_;
  RunnerPool pool_;
  Random random_;
  Stages stages_;
  // Of libraries' baselines: by name and product, since tasks of one product have the same.
  std::map<std::string, ModeChoices> choices_;
  // Importing PyTorch takes seconds. Processes that have begun to, and have seen no task; the
  // oldest first.
  std::deque<std::unique_ptr<PeerProcess>> spare_torch_;
  int torch_references_ = 0;               // started so far
  std::unique_ptr<RunnerProcess> runner_;  // after stages_: gone before the arenas' references
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ORACLE_H_
