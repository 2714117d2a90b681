// Baselines as contenders.
#ifndef WARPSMITH_JUDGE_RUNNER_BASELINE_H_
#define WARPSMITH_JUDGE_RUNNER_BASELINE_H_

#include <string>

#include "judge/runner_session.h"

namespace warpsmith::judge {

struct BaselineReady {
  Contender contender;
  std::string choice;  // what another runner must be told to do exactly the same
};

// With an empty choice, takes the cached one or makes one (cuBLASLt's autotuning runs here, on the
// arena's slots).
Result<BaselineReady> MakeBaseline(const Bench& bench, const MappedArena& arena,
                                   const BaselineCommand& command);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNER_BASELINE_H_
