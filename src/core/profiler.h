// Seam: what a candidate's kernels do inside the device, so that the next proposal can aim.
#ifndef WARPSMITH_CORE_PROFILER_H_
#define WARPSMITH_CORE_PROFILER_H_

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith {

struct ProfileJob {
  Task task;
  Workload workload;
  Candidate candidate;
  Artifact artifact;
};

// A profile is a run of its own, never a timing: counters are read while kernels are replayed.
class Profiler {
 public:
  virtual ~Profiler() = default;
  // Kernels in execution order; a metric that could not be read is absent. What kept a profile from
  // being taken (kUnavailable, kPermission, kNothingMeasured, kTimeout) says nothing about the
  // candidate.
  virtual Result<Profile> Take(const ProfileJob& job) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_PROFILER_H_
