// Baselines as contenders.
#ifndef WARPSMITH_JUDGE_RUNNER_BASELINE_H_
#define WARPSMITH_JUDGE_RUNNER_BASELINE_H_

#include <string>

#include "judge/baseline/shared_handles.h"
#include "judge/runner_session.h"

namespace warpsmith::judge {

// A JSON array of choices: the ways in which the name's library can compute the arena's product.
Result<std::string> ListEntrants(const MappedArena& arena, const EntrantsCommand& command);

// Has run once when it returns, on the arena's first slots: what a library does at its first call
// is not timed.
Result<Contender> MakeBaseline(const Bench& bench, const MappedArena& arena,
                               const BaselineCommand& command, baseline::SharedHandles& shared);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNER_BASELINE_H_
