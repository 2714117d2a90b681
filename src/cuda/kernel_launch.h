// Launching kernels, and how many of their blocks the device holds at once.
#ifndef WARPSMITH_CUDA_KERNEL_LAUNCH_H_
#define WARPSMITH_CUDA_KERNEL_LAUNCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "cuda/module.h"
#include "cuda/stream.h"

namespace warpsmith::cuda {

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;
  bool programmatic = false;  // may start before the previous kernel of the stream has ended
};

// "kernel 'gemm', grid 16 x 8 x 1, block 384 x 1 x 1, cluster 2 x 1 x 1, 229376 B shared"
std::string DescribeLaunch(const Function& function, const LaunchConfig& config);

// `arguments` points to one pointer per parameter, each to that parameter's value, which is copied
// before the call returns. Asynchronous: a kernel's own fault shows at the next synchronisation.
Status Launch(const Function& function, const LaunchConfig& config, const Stream& stream,
              void* const* arguments);

// A launch whose configuration is ready, for a dispatcher whose host time counts. Thread-safe.
class FixedLaunch {
 public:
  // `function`'s module outlives it.
  FixedLaunch(const Function& function, const LaunchConfig& config);
  FixedLaunch(FixedLaunch&&) noexcept;
  FixedLaunch& operator=(FixedLaunch&&) noexcept;
  ~FixedLaunch();

  // As Launch; allocates only when it fails. `stream`: the driver's handle, null included.
  Status Submit(CUstream_st* stream, void* const* arguments) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

// Clusters of this shape that are resident on the whole device at once; the grid is ignored.
Result<int> MaxActiveClusters(const Function& function, const LaunchConfig& config);
// Blocks of this size, with this shared memory, that one SM holds at once.
Result<int> MaxActiveBlocksPerSm(const Function& function, const LaunchConfig& config);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_KERNEL_LAUNCH_H_
