// Device memory and transfers, in the current context. Errors are the driver's (failure.h).
#ifndef WARPSMITH_CUDA_MEMORY_H_
#define WARPSMITH_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "cuda/stream.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// Exact-size device memory (cuMemAlloc; 256-byte aligned). Contents are whatever was there.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> Allocate(size_t bytes);
  DeviceBuffer() = default;  // empty
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  DevicePointer address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(DevicePointer address, size_t bytes) : address_(address), bytes_(bytes) {}
  DevicePointer address_ = 0;
  size_t bytes_ = 0;
};

// Page-locked host memory: what asynchronous transfers need to be asynchronous.
class PinnedBuffer {
 public:
  static Result<PinnedBuffer> Allocate(size_t bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  PinnedBuffer(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  size_t bytes_;
};

struct MemoryInfo {
  size_t free_bytes = 0, total_bytes = 0;
};
Result<MemoryInfo> GetMemoryInfo();  // of the current context's device, all processes together

// These return when the bytes have arrived.
Status CopyToDevice(DevicePointer target, const void* source, size_t bytes);
Status CopyToHost(void* target, DevicePointer source, size_t bytes);

// These are ordered by the stream and can be captured in a graph. 0 bytes do nothing.
Status CopyToDeviceAsync(DevicePointer target, const void* source, size_t bytes,
                         const Stream& stream);
Status CopyToHostAsync(void* target, DevicePointer source, size_t bytes, const Stream& stream);
Status CopyOnDeviceAsync(DevicePointer target, DevicePointer source, size_t bytes,
                         const Stream& stream);
Status FillAsync(DevicePointer target, uint8_t value, size_t bytes, const Stream& stream);

// Rows of `width_bytes`, `pitch_bytes` apart.
struct PitchedRows {
  DevicePointer address = 0;
  size_t pitch_bytes = 0, width_bytes = 0, rows = 0;
};
// Copies as many bytes of as many rows as `source` has; both pitches may differ.
Status CopyRowsAsync(DevicePointer target, size_t target_pitch_bytes, const PitchedRows& source,
                     const Stream& stream);
Status FillRowsAsync(const PitchedRows& target, uint8_t value, const Stream& stream);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_MEMORY_H_
