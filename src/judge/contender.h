// What can be timed: the candidate's plan, or a baseline. Both run under the identical protocol.
#ifndef WARPSMITH_JUDGE_CONTENDER_H_
#define WARPSMITH_JUDGE_CONTENDER_H_

#include <functional>
#include <span>
#include <variant>

#include "base/result.h"
#include "core/launch_plan.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"

namespace warpsmith::judge {

// Submits one launch; can be captured in a graph.
using Enqueue = std::function<Status(const cuda::Stream&)>;

struct Contender {
  // Fixes the addresses of one launch. `launch` counts within the batch: launches with different
  // numbers share no workspace, as far as there are replicas.
  std::function<Result<Enqueue>(std::span<const plan::Binding>, int launch)> bind;
  // Poisons what scratch memory it has.
  std::function<Status(const cuda::Stream&)> reset_workspaces;
  // Writes over what else outlives a launch: shared memory and local memory.
  std::function<Status(const cuda::Stream&)> clear_notes;
  // Its first kernel may begin while what lies ahead of it in the stream is still at work.
  bool begins_early = false;
};

// Does the plan's first kernel begin early?
inline bool BeginsEarly(const LaunchPlan& plan) {
  if (plan.operations.empty()) return false;
  const auto* launch = std::get_if<LaunchOperation>(&plan.operations.front());
  return launch != nullptr && launch->programmatic;
}

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CONTENDER_H_
