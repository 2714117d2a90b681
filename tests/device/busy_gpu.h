// This program again, as another process that keeps the GPU busy for two seconds.
#ifndef WARPSMITH_TESTS_DEVICE_BUSY_GPU_H_
#define WARPSMITH_TESTS_DEVICE_BUSY_GPU_H_

#include <string_view>

namespace warpsmith::judge {

inline constexpr std::string_view kBusyGpu = "busy-gpu";
// `kernels_file`: the judge's kernels. Makes "<kernels_file>.begun" when it has begun.
int BusyGpuMain(const char* kernels_file);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_TESTS_DEVICE_BUSY_GPU_H_
