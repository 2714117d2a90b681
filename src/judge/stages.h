// The problems that an oracle has at hand: arenas with their references, and what was found out
// about them. The least recently used ones go when memory runs short.
#ifndef WARPSMITH_JUDGE_STAGES_H_
#define WARPSMITH_JUDGE_STAGES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/artifact.h"
#include "core/device.h"
#include "judge/arena.h"
#include "judge/oracle_device.h"
#include "judge/program_contest.h"

namespace warpsmith::judge {

struct Stage {
  Task task;
  Workload workload;
  std::unique_ptr<Arena> arena;
  std::optional<std::string> degenerate;   // a trivial answer that the check takes for right
  std::map<std::string, Artifact> rivals;  // compiled, by name
  std::unique_ptr<KeptTorch> torch;        // after the arena: gone before it
};

// Starts what computes a task's references; empty for the built-in one.
using StartReference = std::function<Result<std::unique_ptr<ReferenceProcess>>(
    const Task&, const Workload&, const ResolvedTask&)>;

class Stages {
 public:
  // `release_runners` is called before an arena goes: its references may not outlive the chance of
  // a runner to be handed their pages.
  Stages(OracleDevice& device, const DeviceInfo& info, Random& random,
         StartReference start_reference, std::function<void()> release_runners)
      : device_(device),
        info_(info),
        random_(random),
        start_reference_(std::move(start_reference)),
        release_runners_(std::move(release_runners)) {}

  // The stage holds until the next call of Of, which may move or drop it.
  // kBadInput for a task that cannot be judged, also when its reference fails; found once, told
  // each time.
  Result<Stage*> Of(const Task& task, const Workload& workload);
  bool Has(const Task& task, const Workload& workload) const;
  void Clear() { stages_.clear(); }

 private:
  Result<Stage> Build(const std::string& id, const Task& task, const Workload& workload);
  Result<ArenaPlan> PlanFor(const Task& task, const Workload& workload,
                            const ResolvedTask& problem) const;
  void MakeRoom();
  Status DoubtReference(Stage& stage);

  OracleDevice& device_;
  const DeviceInfo& info_;
  Random& random_;
  StartReference start_reference_;
  std::function<void()> release_runners_;
  std::vector<std::pair<std::string, Stage>> stages_;  // most recently used last
  std::map<std::string, Error> unfit_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_STAGES_H_
