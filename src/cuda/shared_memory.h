// Device memory that two processes share: physical memory is created once, travels as a POSIX file
// descriptor, and each process maps it where and how it likes (CUDA virtual memory management).
//
//   oracle:  memory = PhysicalMemory::Create(device, bytes);  fd = memory.Export();  -- send fd -->
//   runner:  memory = PhysicalMemory::Import(fd, bytes);      map = Mapping::Map(memory, ...);
//
// The memory lives until its last PhysicalMemory and its last Mapping, in any process, are gone.
#ifndef WARPSMITH_CUDA_SHARED_MEMORY_H_
#define WARPSMITH_CUDA_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "cuda/driver.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// Physical memory and its mappings come in multiples of this (2 MiB on current devices).
Result<size_t> SharedGranularity(const DeviceProperties& device);

class PhysicalMemory {
 public:
  // `bytes` is rounded up to the granularity. Exportable.
  static Result<PhysicalMemory> Create(const DeviceProperties& device, size_t bytes);
  // `descriptor` stays the caller's and may be closed afterwards. `bytes` as the exporter's
  // bytes().
  static Result<PhysicalMemory> Import(const DeviceProperties& device, int descriptor,
                                       size_t bytes);
  PhysicalMemory(PhysicalMemory&& other) noexcept;
  PhysicalMemory& operator=(PhysicalMemory&& other) noexcept;
  ~PhysicalMemory();

  Result<int> Export() const;  // a new descriptor, the caller's to close
  size_t bytes() const { return bytes_; }
  int device_ordinal() const { return device_ordinal_; }
  uint64_t handle() const { return handle_; }

 private:
  PhysicalMemory(uint64_t handle, size_t bytes, int device_ordinal)
      : handle_(handle), bytes_(bytes), device_ordinal_(device_ordinal) {}
  uint64_t handle_;
  size_t bytes_;
  int device_ordinal_;
};

enum class Access : uint8_t { kRead, kReadWrite };

struct MappingOptions {
  Access access = Access::kReadWrite;
  // Unmapped addresses reserved before and after the memory, rounded up to the granularity: an
  // access there is an illegal address, not somebody else's data.
  size_t guard_bytes = 0;
  // Where the memory should start; 0: anywhere. A wish: compare address() where it must hold.
  DevicePointer wanted_address = 0;
};

// All of a physical memory, mapped into this process.
class Mapping {
 public:
  static Result<Mapping> Map(const PhysicalMemory& memory, const MappingOptions& options = {});
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  DevicePointer address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  Mapping(DevicePointer reserved, size_t reserved_bytes, DevicePointer address, size_t bytes)
      : reserved_(reserved), reserved_bytes_(reserved_bytes), address_(address), bytes_(bytes) {}
  DevicePointer reserved_;
  size_t reserved_bytes_;
  DevicePointer address_;
  size_t bytes_;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_SHARED_MEMORY_H_
