// One candidate's profile, by whatever this machine offers.
#ifndef WARPSMITH_TOOLS_CANDIDATE_PROFILE_H_
#define WARPSMITH_TOOLS_CANDIDATE_PROFILE_H_

#include <string>

#include "machine.h"
#include "task/task_file.h"

namespace warpsmith::cli {

// `ncu`: profiling.h. In a replay, what can be said of the code without a run. kAnswerIsNo where
// the candidate does not compile.
Result<Profile> ProfileOf(Machine& machine, const task::LoadedTask& loaded,
                          const Candidate& candidate, const std::string& ncu);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_CANDIDATE_PROFILE_H_
