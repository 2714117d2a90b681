// A profile without counters: what the compiler's report, the disassembly and the plan tell, and
// where it was taken, CUPTI's times.
#ifndef WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_
#define WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/profiler.h"

namespace warpsmith::profile {

// A kernel's run, by the device's clock.
struct KernelTime {
  std::string kernel;
  double time_ns = 0;
};

// Source "cupti" with times, else "static". A `kernel` candidate's profile has an entry for each
// launch of its plan, in order, with occupancy and waves; a `program` candidate's one for each
// time, or without times one for each kernel in its image. Metrics that mean what a counter means
// have the counter's name (profile/metrics.h).
//
// `sm_count` 0: unknown, then there are no waves. Times are taken over in order where their number
// is that of the launches, else by name. kBadInput when the plan cannot be carried out.
Result<Profile> StaticProfile(const ProfileJob& job, int sm_count,
                              const std::vector<KernelTime>& times = {});

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_
