// The profilers that this machine offers, put together from the folders that know the parts.
#ifndef WARPSMITH_SEARCH_MACHINE_PROFILING_H_
#define WARPSMITH_SEARCH_MACHINE_PROFILING_H_

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "core/device.h"
#include "core/profiler.h"
#include "judge/profile/bottleneck.h"
#include "search/machine/machine.h"

namespace warpsmith::search {

struct ProfilerOptions {
  // Empty: Nsight Compute where it is found, and what can be said without counters where they
  // cannot be had. Else that program and nothing else.
  std::string ncu;
  bool sandboxed = true;                             // programs, with the tool that watches them
  std::function<void(const std::string& line)> say;  // why there are no counters, once a boot
};

// Profiles on the GPU that `device` names, which this process holds.
std::unique_ptr<Profiler> MakeProfiler(const DeviceInfo& device, ProfilerOptions options);

// What the rules need to know of the work. Its roofline bound is the cold one, because a profile
// flushes caches.
Result<profile::ProblemFacts> FactsOf(const DeviceInfo& device, const Task& task,
                                      const Workload& workload);

// --- One candidate's profile, by whatever this machine offers.

// `ncu`: profiling.h. In a replay, what can be said of the code without a run. kAnswerIsNo where
// the candidate does not compile.
Result<Profile> ProfileOf(Machine& machine, const Task& task, const Workload& workload,
                          const Candidate& candidate, const std::string& ncu);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_MACHINE_PROFILING_H_
