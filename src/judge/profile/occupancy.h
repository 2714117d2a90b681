// How many blocks fit on an SM, from what the compiler and the launch say.
#ifndef WARPSMITH_JUDGE_PROFILE_OCCUPANCY_H_
#define WARPSMITH_JUDGE_PROFILE_OCCUPANCY_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpsmith::profile {

// One SM's resources (CUDA programming guide, "Technical Specifications per Compute Capability").
struct SmLimits {
  int warps = 0, blocks = 0;
  int registers = 65'536;
  int64_t shared_bytes = 0;
  int64_t reserved_shared_bytes = 0;  // that the driver takes for each block
};
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

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_OCCUPANCY_H_
