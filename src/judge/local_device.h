// The GPU of this machine as a Device: a thread of its own judges jobs in the order they came.
#ifndef WARPSMITH_JUDGE_LOCAL_DEVICE_H_
#define WARPSMITH_JUDGE_LOCAL_DEVICE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"
#include "core/device.h"
#include "core/task.h"
#include "judge/gpu_turns.h"
#include "judge/library_contest.h"

namespace warpsmith::judge {

struct LocalDeviceOptions {
  std::string gpu;      // index, UUID or a prefix of it; empty: the first
  std::string kernels;  // BuildJudgeKernels' cubin for ArchitectureOfGpu(gpu)
  // What starts a runner; the socket's number is appended. Empty: this program with
  // kRunnerSubcommand.
  std::vector<std::string> runner_argv;
  std::vector<std::string> program_argv;  // likewise a program's process, kProgramSubcommand
  // And what the audits' tools run, kStandaloneSubcommand.
  std::vector<std::string> standalone_argv;
  bool sandboxed = true;         // false: programs run with all that the user may do
  Compiler* compiler = nullptr;  // for references and rivals; outlives the device
  // Paths that baselines "lib:PATH" may name. They are loaded into the measuring process: the
  // user's word alone puts one here, never a task's.
  std::vector<std::string> libraries = {};
  // How long to wait for another measuring process. 0: keep others off for as long as this lives.
  std::chrono::milliseconds lock_patience{0};
};

// What the device was held for, to tell how well a run keeps it busy.
struct DeviceUse {
  double held_seconds = 0;       // nobody else could measure
  double measuring_seconds = 0;  // of these, with a job at work
};

// The architecture to build the judge's kernels for ("sm_90a"). kUnavailable without a GPU.
Result<std::string> ArchitectureOfGpu(const std::string& gpu);

// One process at a time measures on a GPU (gpu_turns.h). Thread-safe.
class LocalDevice : public Device {
 public:
  // kUnavailable: no GPU or driver. kBusy: another process measures on it, and went on doing so for
  // the whole patience.
  static Result<std::unique_ptr<LocalDevice>> Open(LocalDeviceOptions options);
  ~LocalDevice() override;  // ends the job at work first; jobs not begun are dropped

  const DeviceInfo& Info() const override;
  Status Submit(std::vector<Job> jobs) override;
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) override;

  DeviceUse Use() const;
  // For other work on the GPU: nobody measures while the turn lives, and the jobs wait. So whoever
  // holds it must not wait for them.
  Result<GpuTurns::Turn> TakeTurn();
  // Is there a trivial answer (zeros, a constant, a copy) that the task's check takes for right?
  // Waits for the jobs before it.
  Result<std::optional<std::string>> DegenerateAnswer(const Task& task, const Workload& workload);
  // What a library's baseline comes to in each of the request's modes: as known, or by a contest.
  // Waits for the jobs before it.
  Result<ModeChoices> Choose(const Task& task, const Workload& workload,
                             const ChoiceRequest& request);

 private:
  class Worker;
  explicit LocalDevice(std::unique_ptr<Worker> worker);
  std::unique_ptr<Worker> worker_;
};

// What a GPU shows of a task, for `task check`.
// Runs the reference on `device`. Trouble that is the task's own (its reference fails, nothing
// fits) is an observation; trouble of the machine is an Error.
Result<TaskObservations> ObserveTask(judge::LocalDevice& device, const Task& task,
                                     const Workload& workload);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_LOCAL_DEVICE_H_
