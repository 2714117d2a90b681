#include "cuda/memory.h"

#include <utility>

#include "cuda/driver_api.h"
#include "cuda/failure.h"
#include "cuda/guest.h"

namespace warpsmith::cuda {
Result<DeviceBuffer> DeviceBuffer::Allocate(size_t bytes) {
  if (bytes == 0) return DeviceBuffer();
  CUdeviceptr address = 0;
  TRY(DRIVER_CALL(BytesText(bytes), cuMemAlloc, &address, bytes));
  return DeviceBuffer(address, bytes);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) Api().cuMemFree(address_);
}

Result<PinnedBuffer> PinnedBuffer::Allocate(size_t bytes) {
  void* data = nullptr;
  TRY(DRIVER_CALL(BytesText(bytes), cuMemHostAlloc, &data, bytes, 0));
  return PinnedBuffer(data, bytes);
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) Api().cuMemFreeHost(data_);
}

Result<MemoryInfo> GetMemoryInfo() {
  MemoryInfo info;
  TRY(DRIVER_CALL("", cuMemGetInfo, &info.free_bytes, &info.total_bytes));
  return info;
}

Status CopyToDevice(DevicePointer target, const void* source, size_t bytes) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemcpyHtoD, target, source, bytes);
}

Status CopyToHost(void* target, DevicePointer source, size_t bytes) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemcpyDtoH, target, source, bytes);
}

Status CopyToDeviceAsync(DevicePointer target, const void* source, size_t bytes,
                         const Stream& stream) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemcpyHtoDAsync, target, source, bytes, stream.handle());
}

Status CopyToHostAsync(void* target, DevicePointer source, size_t bytes, const Stream& stream) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemcpyDtoHAsync, target, source, bytes, stream.handle());
}

Status CopyOnDeviceAsync(DevicePointer target, DevicePointer source, size_t bytes,
                         const Stream& stream) {
  return CopyOnDeviceAsync(target, source, bytes, stream.handle());
}

Status FillAsync(DevicePointer target, uint8_t value, size_t bytes, const Stream& stream) {
  return FillAsync(target, value, bytes, stream.handle());
}

Status CopyRowsAsync(DevicePointer target, size_t target_pitch_bytes, const PitchedRows& source,
                     const Stream& stream) {
  return CopyRowsAsync(target, target_pitch_bytes, source, stream.handle());
}

Status FillRowsAsync(const PitchedRows& target, uint8_t value, const Stream& stream) {
  return FillRowsAsync(target, value, stream.handle());
}

}  // namespace warpsmith::cuda
