// One candidate's profile, by whatever this machine offers.
#ifndef WARPSMITH_SEARCH_MACHINE_CANDIDATE_PROFILE_H_
#define WARPSMITH_SEARCH_MACHINE_CANDIDATE_PROFILE_H_

#include <string>

#include "search/machine/machine.h"

namespace warpsmith::search {

// `ncu`: profiling.h. In a replay, what can be said of the code without a run. kAnswerIsNo where
// the candidate does not compile.
Result<Profile> ProfileOf(Machine& machine, const Task& task, const Workload& workload,
                          const Candidate& candidate, const std::string& ncu);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_MACHINE_CANDIDATE_PROFILE_H_
