// Working in a program's own context and streams, as a library does: nothing here makes, owns or
// waits for either. Streams are the driver's handles as the program has them, the null stream
// included. Thread-safe.
#ifndef WARPSMITH_CUDA_GUEST_H_
#define WARPSMITH_CUDA_GUEST_H_

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "cuda/driver.h"
#include "cuda/kernel_launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// Lets an encoded map point elsewhere; everything else stays. `map` is 64-byte aligned, `address`
// as EncodeTensorMap wants it.
Status ReplaceAddress(TensorMap* map, DevicePointer address);

// As those of memory.h.
Status CopyOnDeviceAsync(DevicePointer target, DevicePointer source, size_t bytes,
                         CUstream_st* stream);
Status CopyRowsAsync(DevicePointer target, size_t target_pitch_bytes, const PitchedRows& source,
                     CUstream_st* stream);
Status FillAsync(DevicePointer target, uint8_t value, size_t bytes, CUstream_st* stream);
Status FillRowsAsync(const PitchedRows& target, uint8_t value, CUstream_st* stream);

// The context that is current in this thread; null: none is.
Result<CUctx_st*> CurrentContext();
Status MakeCurrent(CUctx_st* context);  // in this thread
// Of the current context.
Result<int> CurrentDevice();

// What memory the driver says is behind an address.
enum class MemoryKind : uint8_t { kUnknown, kHost, kDevice };
MemoryKind MemoryBehind(DevicePointer address);  // kUnknown, too, where the driver refuses

// While it lives, this thread may load modules although some stream is being captured.
class CaptureTolerance {
 public:
  CaptureTolerance();
  ~CaptureTolerance();
  CaptureTolerance(const CaptureTolerance&) = delete;
  CaptureTolerance& operator=(const CaptureTolerance&) = delete;

 private:
  int before_ = 0;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_GUEST_H_
