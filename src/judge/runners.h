// The oracle's runner processes: which one kernels are measured in now, and what is ready in it.
#ifndef WARPSMITH_JUDGE_RUNNERS_H_
#define WARPSMITH_JUDGE_RUNNERS_H_

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "core/device.h"
#include "judge/called_process.h"
#include "judge/library_contest.h"
#include "judge/local_device.h"
#include "judge/stages.h"

namespace warpsmith::judge {

// Screened jobs share a runner: one process, and no contents that are drawn anew.
bool SharesRunner(const Protocol& protocol);

class Runners {
 public:
  // Starts processes and compiles rivals as `options` say. The references must outlive it.
  Runners(const LocalDeviceOptions& options, const DeviceInfo& info, Random& random)
      : options_(options),
        info_(info),
        random_(random),
        process_{options.runner_argv, {info.uuid}, options.kernels},
        pool_(process_) {}

  const ProcessOptions& process_options() const { return process_; }

  // Starts runners ahead, until so many wait.
  Status Prepare(size_t count) { return pool_.Prepare(count); }
  // Returns when no runner is starting any more: a context that is being created disturbs whatever
  // is measured beside it.
  Status Settle() { return pool_.Settle(); }

  // Sees to Current(), with the stage's arena mapped: screened jobs go on in the one that is there,
  // others get a fresh one.
  Status MakeReady(const Protocol& protocol, Stage& stage);
  CalledProcess& Current() const { return *current_; }
  bool HasCurrent() const { return current_ != nullptr; }
  void Drop() { current_.reset(); }
  void DropIfDead() {
    if (current_ != nullptr && !current_->alive()) Drop();
  }

  // Has the rival's kernel ready in Current(), as this callee.
  Status LoadRival(Stage& stage, const Rival& rival, const std::string& callee);
  // kBadInput where a task names a library that the user has not named.
  Status AllowLibrary(const std::string& baseline) const;
  // What a library's baseline comes to in each of the request's modes: known, or chosen by a contest
  // in Current(), and kept on disk.
  Result<ModeChoices> ChoicesOf(Stage& stage, const ChoiceRequest& request);

 private:
  const LocalDeviceOptions& options_;
  const DeviceInfo& info_;
  Random& random_;
  ProcessOptions process_;
  RunnerPool pool_;
  // Of libraries' baselines: by name and product, since tasks of one product have the same.
  std::map<std::string, ModeChoices> choices_;
  std::unique_ptr<CalledProcess> current_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNERS_H_
