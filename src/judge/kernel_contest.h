// A contest of kernels: batches of launches in runner processes, on the runner's clock. All entrants
// of a process run in the same runner.
#ifndef WARPSMITH_JUDGE_KERNEL_CONTEST_H_
#define WARPSMITH_JUDGE_KERNEL_CONTEST_H_

#include <string>

#include "base/result.h"
#include "judge/contest.h"
#include "judge/runners.h"
#include "judge/stages.h"

namespace warpsmith::judge {

// PyTorch's modules and programs launch what they like: they are timed on the wall clock only, by
// another contest (program_contest.h).
bool IsTimedOnTheWall(const Task& task, const std::string& baseline);

Result<Outcome> RunKernelContest(const ContestContext& context, Stage& stage, Runners& runners);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_KERNEL_CONTEST_H_
