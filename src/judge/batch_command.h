// From a planned batch to the command that has it run and timed: the same for whoever is timed.
#ifndef WARPSMITH_JUDGE_BATCH_COMMAND_H_
#define WARPSMITH_JUDGE_BATCH_COMMAND_H_

#include <cstdint>
#include <string>

#include "base/random.h"
#include "judge/arena.h"
#include "judge/slot_plan.h"
#include "judge/wire.h"

namespace warpsmith::judge {

// Does the plan's first kernel begin early, while what lies ahead of it in the stream is at work?
bool BeginsEarly(const LaunchPlan& plan);

// What outputs hold before a launch, drawn anew each time so that it cannot be left standing for an
// answer: a quiet NaN that no conversion instruction makes by itself and no memset leaves behind.
uint16_t DrawPoison(Random& random);

// `callee` in the runner. Poison and idle times are drawn here.
SampleCommand CommandOf(const Arena& arena, const std::string& callee, Mode mode,
                        const BatchPlan& batch, Random& random);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BATCH_COMMAND_H_
