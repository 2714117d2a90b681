// Launching kernels, and how many of their blocks the device holds at once.
#ifndef WARPSMITH_CUDA_KERNEL_LAUNCH_H_
#define WARPSMITH_CUDA_KERNEL_LAUNCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// --- TMA tensor maps (cuTensorMapEncodeTiled): the 128-byte descriptor that a kernel takes by
// value. CUDA driver API manual, "Tensor Map Object Management"; PTX ISA, "Tensor-map".

enum class TensorElement : uint8_t { kU8, kU16, kU32, kI32, kU64, kI64, kF16, kF32, kF64, kBF16 };

struct TensorMapSpec {
  TensorElement element = TensorElement::kF16;
  // Innermost dimension first, 1 to 5 of them; strides one fewer (the innermost is dense).
  std::vector<uint64_t> dims, strides_bytes;
  std::vector<uint32_t> box, element_strides;
  int swizzle_bytes = 0;       // 0, 32, 64, 128
  int interleave_bytes = 0;    // 0, 16, 32
  int l2_promotion_bytes = 0;  // 0, 64, 128, 256
  bool fill_nan = false;       // out-of-bounds elements read as NaN instead of zero
};

// A kernel's parameter of this type is `const __grid_constant__ CUtensorMap`, 64-byte aligned
// there.
struct TensorMap {
  std::array<uint64_t, 16> words{};
};

// kBadInput where the spec's own lists do not fit together; the driver's refusal names every field.
// `address` is 16-byte aligned (32 with interleave 32).
Result<TensorMap> EncodeTensorMap(DevicePointer address, const TensorMapSpec& spec);

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
