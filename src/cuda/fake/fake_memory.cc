// Memory: the host's. Shared memory is a memfd, its mappings mmap, its guard pages real ones.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "cuda/fake/fake_state.h"

using warpsmith::cuda::fake::Submit;
using warpsmith::cuda::fake::TheState;

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

char* Pointer(CUdeviceptr address) { return reinterpret_cast<char*>(address); }

CUresult FromErrno(bool good) { return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(data);
  TheState().allocations[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  if (TheState().allocations.erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(Pointer(address));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  *data = std::malloc(bytes);
  return *data != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void* data) {
  std::free(data);
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto next = TheState().allocations.upper_bound(address);
  if (next == TheState().allocations.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [start, bytes] = *std::prev(next);
  if (address >= start + bytes) return CUDA_ERROR_INVALID_VALUE;
  const bool is_type = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  *static_cast<unsigned*>(value) = is_type ? CU_MEMORYTYPE_DEVICE : 0;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = size_t{1} << 33;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr target, const void* source, size_t bytes) {
  std::memcpy(Pointer(target), source, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* target, CUdeviceptr source, size_t bytes) {
  std::memcpy(target, Pointer(source), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void* source, size_t bytes, CUstream stream) {
  return Submit(stream, [=] { std::memcpy(Pointer(target), source, bytes); });
}
CUresult cuMemcpyDtoHAsync(void* target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return Submit(stream, [=] { std::memcpy(target, Pointer(source), bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  return Submit(stream, [=] { std::memmove(Pointer(target), Pointer(source), bytes); });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Submit(stream, [copy = *copy] {
    for (size_t row = 0; row < copy.Height; ++row) {
      std::memcpy(Pointer(copy.dstDevice + row * copy.dstPitch),
                  Pointer(copy.srcDevice + row * copy.srcPitch), copy.WidthInBytes);
    }
  });
}
CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream) {
  return Submit(stream, [=] { std::memset(Pointer(target), value, bytes); });
}
CUresult cuMemsetD2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
                           size_t rows, CUstream stream) {
  return Submit(stream, [=] {
    for (size_t row = 0; row < rows; ++row)
      std::memset(Pointer(target + row * pitch), value, width);
  });
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}
// A handle is a descriptor plus one, since 0 is no handle.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                     unsigned long long) {
  const int descriptor = memfd_create("fake device memory", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = static_cast<CUmemGenericAllocationHandle>(descriptor) + 1;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return FromErrno(close(static_cast<int>(handle - 1)) == 0);
}
CUresult cuMemExportToShareableHandle(void* descriptor, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  const int copy = dup(static_cast<int>(handle - 1));
  std::memcpy(descriptor, &copy, sizeof(copy));
  return FromErrno(copy >= 0);
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* descriptor,
                                        CUmemAllocationHandleType) {
  const int copy = dup(static_cast<int>(reinterpret_cast<intptr_t>(descriptor)));
  *handle = static_cast<CUmemGenericAllocationHandle>(copy) + 1;
  return FromErrno(copy >= 0);
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr hint,
                             unsigned long long) {
  void* data = mmap(Pointer(hint), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<CUdeviceptr>(data);
  return FromErrno(data != MAP_FAILED);
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return FromErrno(munmap(Pointer(address), bytes) == 0);
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  void* data = mmap(Pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                    static_cast<int>(handle - 1), static_cast<off_t>(offset));
  return FromErrno(data != MAP_FAILED);
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  void* data =
      mmap(Pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return FromErrno(data != MAP_FAILED);
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* description,
                        size_t) {
  const bool writable = description->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return FromErrno(
      mprotect(Pointer(address), bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0);
}

}  // extern "C"
