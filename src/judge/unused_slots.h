// Whether a launch has brought into L2 what it was not given: a kernel that prefetches the inputs of
// launches to come makes them look as if they came from memory quickly.
#ifndef WARPSMITH_JUDGE_UNUSED_SLOTS_H_
#define WARPSMITH_JUDGE_UNUSED_SLOTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "judge/arena.h"
#include "judge/oracle_device.h"

namespace warpsmith::judge {

// What divides the cycles of loads that found their line in L2 (warm) from those of loads that did
// not; nullopt where they lie too near each other to tell.
std::optional<double> ThresholdOf(const std::vector<uint32_t>& warm_cycles,
                                  const std::vector<uint32_t>& cold_cycles);
// The share, from 0 to 1, of the loads that took fewer cycles than that; 0 of no loads.
double WarmShare(std::span<const uint32_t> cycles, double threshold);

// The input slots that no launch of a batch reads.
class UnusedSlots {
 public:
  UnusedSlots(OracleDevice& device, const Arena& arena, const BatchPlan& batch);

  // Before the batch: times the slots in L2 and out of it, and leaves them out of it. False: these
  // times do not tell which, and Find means nothing.
  Result<bool> Prepare();
  // After the batch, which emptied L2 and launched. The slot that is in L2 all the same.
  Result<std::optional<Rejected>> Find();

 private:
  struct Slots {
    std::string tensor;
    int64_t stride = 0;
    std::vector<uint64_t> addresses;
  };
  Result<std::vector<uint32_t>> Time(const Slots& slots);

  OracleDevice& device_;
  std::vector<Slots> inputs_;  // those large enough to tell
  double threshold_ = 0;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_UNUSED_SLOTS_H_
