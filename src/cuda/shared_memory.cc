#include "cuda/shared_memory.h"

#include <utility>

#include "cuda/driver_api.h"
#include "cuda/failure.h"

namespace warpsmith::cuda {
namespace {

CUmemAllocationProp PropertiesFor(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

Result<size_t> GranularityOf(int ordinal) {
  const CUmemAllocationProp properties = PropertiesFor(ordinal);
  size_t granularity = 0;
  TRY(DRIVER_CALL("device " + std::to_string(ordinal), cuMemGetAllocationGranularity, &granularity,
                  &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return granularity;
}

size_t RoundUp(size_t bytes, size_t granularity) {
  return (bytes + granularity - 1) / granularity * granularity;
}

Status Allow(DevicePointer address, size_t bytes, int ordinal, Access access) {
  CUmemAccessDesc description{};
  description.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  description.location.id = ordinal;
  description.flags =
      access == Access::kRead ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return DRIVER_CALL(BytesText(bytes) + (access == Access::kRead ? ", read" : ", read and write"),
                     cuMemSetAccess, address, bytes, &description, 1);
}

}  // namespace

Result<size_t> SharedGranularity(const DeviceProperties& device) {
  return GranularityOf(device.ordinal);
}

Result<PhysicalMemory> PhysicalMemory::Create(const DeviceProperties& device, size_t bytes) {
  const size_t rounded = RoundUp(bytes, TRY(GranularityOf(device.ordinal)));
  const CUmemAllocationProp properties = PropertiesFor(device.ordinal);
  CUmemGenericAllocationHandle handle = 0;
  TRY(DRIVER_CALL(BytesText(rounded), cuMemCreate, &handle, rounded, &properties, 0));
  return PhysicalMemory(handle, rounded, device.ordinal);
}

Result<PhysicalMemory> PhysicalMemory::Import(const DeviceProperties& device, int descriptor,
                                              size_t bytes) {
  CUmemGenericAllocationHandle handle = 0;
  void* os_handle = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  TRY(DRIVER_CALL("descriptor " + std::to_string(descriptor), cuMemImportFromShareableHandle,
                  &handle, os_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  return PhysicalMemory(handle, bytes, device.ordinal);
}

PhysicalMemory::PhysicalMemory(PhysicalMemory&& other) noexcept
    : handle_(std::exchange(other.handle_, 0)),
      bytes_(other.bytes_),
      device_ordinal_(other.device_ordinal_) {}

PhysicalMemory& PhysicalMemory::operator=(PhysicalMemory&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_ordinal_, other.device_ordinal_);
  return *this;
}

PhysicalMemory::~PhysicalMemory() {
  if (handle_ != 0) Api().cuMemRelease(handle_);
}

Result<int> PhysicalMemory::Export() const {
  int descriptor = -1;
  TRY(DRIVER_CALL(BytesText(bytes_), cuMemExportToShareableHandle, &descriptor, handle_,
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  return descriptor;
}

Result<Mapping> Mapping::Map(const PhysicalMemory& memory, const MappingOptions& options) {
  const size_t guard = RoundUp(options.guard_bytes, TRY(GranularityOf(memory.device_ordinal())));
  const size_t reserved_bytes = memory.bytes() + 2 * guard;
  const CUdeviceptr hint = options.wanted_address == 0 ? 0 : options.wanted_address - guard;
  CUdeviceptr reserved = 0;
  TRY(DRIVER_CALL(BytesText(reserved_bytes), cuMemAddressReserve, &reserved, reserved_bytes, 0,
                  hint, 0));
  // From here on the destructor frees the addresses; it unmaps once `bytes` says what is mapped.
  Mapping mapping(reserved, reserved_bytes, reserved + guard, 0);
  TRY(DRIVER_CALL(BytesText(memory.bytes()), cuMemMap, mapping.address_, memory.bytes(), 0,
                  memory.handle(), 0));
  mapping.bytes_ = memory.bytes();
  TRY(Allow(mapping.address_, mapping.bytes_, memory.device_ordinal(), options.access));
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : reserved_(std::exchange(other.reserved_, 0)),
      reserved_bytes_(other.reserved_bytes_),
      address_(other.address_),
      bytes_(other.bytes_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(reserved_, other.reserved_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (reserved_ == 0) return;
  if (bytes_ != 0) Api().cuMemUnmap(address_, bytes_);
  Api().cuMemAddressFree(reserved_, reserved_bytes_);
}

}  // namespace warpsmith::cuda
