#include "cuda/guest.h"

#include <cuda.h>

#include "cuda/driver_api.h"
#include "cuda/failure.h"

namespace warpsmith::cuda {
namespace {

std::string RowsText(const PitchedRows& rows) {
  return std::to_string(rows.rows) + " rows of " + BytesText(rows.width_bytes) + ", pitch " +
         std::to_string(rows.pitch_bytes);
}

}  // namespace

Status ReplaceAddress(TensorMap* map, DevicePointer address) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  return DRIVER_CALL("", cuTensorMapReplaceAddress, reinterpret_cast<CUtensorMap*>(map),
                     reinterpret_cast<void*>(address));
}

Status CopyOnDeviceAsync(DevicePointer target, DevicePointer source, size_t bytes,
                         CUstream_st* stream) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemcpyDtoDAsync, target, source, bytes, stream);
}

Status FillAsync(DevicePointer target, uint8_t value, size_t bytes, CUstream_st* stream) {
  if (bytes == 0) return {};
  return DRIVER_CALL(BytesText(bytes), cuMemsetD8Async, target, value, bytes, stream);
}

Status CopyRowsAsync(DevicePointer target, size_t target_pitch_bytes, const PitchedRows& source,
                     CUstream_st* stream) {
  if (source.rows == 0 || source.width_bytes == 0) return {};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = source.address;
  copy.srcPitch = source.pitch_bytes;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = target;
  copy.dstPitch = target_pitch_bytes;
  copy.WidthInBytes = source.width_bytes;
  copy.Height = source.rows;
  return DRIVER_CALL(RowsText(source) + " to " + std::to_string(target_pitch_bytes),
                     cuMemcpy2DAsync, &copy, stream);
}

Status FillRowsAsync(const PitchedRows& target, uint8_t value, CUstream_st* stream) {
  if (target.rows == 0 || target.width_bytes == 0) return {};
  return DRIVER_CALL(RowsText(target), cuMemsetD2D8Async, target.address, target.pitch_bytes, value,
                     target.width_bytes, target.rows, stream);
}

Result<CUctx_st*> CurrentContext() {
  CUcontext context = nullptr;
  TRY(DRIVER_CALL("", cuCtxGetCurrent, &context));
  return context;
}

Status MakeCurrent(CUctx_st* context) { return DRIVER_CALL("", cuCtxSetCurrent, context); }

Result<int> CurrentDevice() {
  CUdevice device = 0;
  TRY(DRIVER_CALL("", cuCtxGetDevice, &device));
  return static_cast<int>(device);
}

MemoryKind MemoryBehind(DevicePointer address) {
  unsigned type = 0;
  const CUresult told =
      Api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  if (told != CUDA_SUCCESS) return MemoryKind::kUnknown;
  unsigned managed = 0;
  Api().cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
  const bool on_host = type == CU_MEMORYTYPE_HOST && managed == 0;
  return on_host ? MemoryKind::kHost : MemoryKind::kDevice;
}

CaptureTolerance::CaptureTolerance() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (Api().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS) {
    before_ = static_cast<int>(mode);
  } else {
    before_ = -1;
  }
}

CaptureTolerance::~CaptureTolerance() {
  if (before_ < 0) return;
  auto mode = static_cast<CUstreamCaptureMode>(before_);
  Api().cuThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace warpsmith::cuda
