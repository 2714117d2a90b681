// The roofline bound: the least time that arithmetic and memory allow in a timing mode.
#ifndef WARPSMITH_JUDGE_ROOFLINE_H_
#define WARPSMITH_JUDGE_ROOFLINE_H_

#include <string_view>

#include "base/result.h"
#include "core/device.h"
#include "core/protocol.h"
#include "core/task.h"

namespace warpsmith::judge {

// Rates of the parts we know, from NVIDIA's data sheets: dense FP16 tensor peak at the boost clock
// and memory bandwidth. The L2 rate is an upper estimate (no data sheet gives one), so that a bound
// is never too high. All 0 for a part not listed: its bounds are 0 and nothing is below them.
struct PartRates {
  double tensor_f16_flops = 0, hbm_bytes_per_s = 0, l2_bytes_per_s = 0;
};
PartRates RatesOf(std::string_view device_name);

// Bytes every launch must move at least: each input read once, each output written once.
Result<int64_t> CompulsoryBytes(const Task& task, const Workload& workload);

// max(FLOPs / tensor peak, bytes / rate), where the rate is L2's in hot modes (kDeviceHot,
// kOffline) as long as the bytes fit there, else HBM's. Needs the task's expressions to evaluate.
Result<double> RooflineUs(const DeviceInfo& device, const Task& task, const Workload& workload,
                          Mode mode);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ROOFLINE_H_
