// A profile without counters: what the compiler's report, the disassembly and the plan tell, and
// where it was taken, CUPTI's times.
#ifndef WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_
#define WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/profiler.h"

namespace warpsmith::profile {

// --- How many blocks fit on an SM, from what the compiler and the launch say.

// One SM's resources (CUDA programming guide, "Technical Specifications per Compute Capability").
struct SmLimits {
  int warps = 0, blocks = 0;
  int registers = 65'536;
  int64_t shared_bytes = 0;
  int64_t reserved_shared_bytes = 0;  // that the driver takes for each block
};
// Nullopt: an architecture that is not in that table.
std::optional<SmLimits> LimitsOf(std::string_view architecture);

struct BlockResources {
  int threads = 0;
  int registers_per_thread = 0;
  int64_t shared_bytes = 0;  // static and dynamic
};

// Blocks an SM could hold if only this resource counted.
struct Occupancy {
  int by_registers = 0, by_shared = 0, by_blocks = 0, by_warps = 0;
  int blocks = 0;  // the least of them
  double pct = 0;  // of the SM's warps
};
// Nullopt where the block cannot be: no threads, or too many.
std::optional<Occupancy> TheoreticalOccupancy(const SmLimits& limits, const BlockResources& block);

// A kernel's run, by the device's clock.
struct KernelTime {
  std::string kernel;
  double time_ns = 0;
};

// Source "cupti" with times, else "static". A `kernel` candidate's profile has an entry for each
// launch of its plan, in order, with occupancy and waves; a `program` candidate's one for each
// time, or without times one for each kernel in its image. Metrics that mean what a counter means
// have the counter's name (judge/profile/metrics.h).
//
// `sm_count` 0: unknown, then there are no waves. Times are taken over in order where their number
// is that of the launches, else by name. kBadInput when the plan cannot be carried out.
Result<Profile> StaticProfile(const ProfileJob& job, int sm_count,
                              const std::vector<KernelTime>& times = {});

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_STATIC_PROFILE_H_
