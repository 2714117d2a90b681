// The driver's functions that we call. Private to this folder: it includes cuda.h.
#ifndef WARPSMITH_CUDA_DRIVER_API_H_
#define WARPSMITH_CUDA_DRIVER_API_H_

#include <cuda.h>

#include <string>

#include "base/result.h"
#include "cuda/library.h"

namespace warpsmith::cuda {

// clang-format off
#define WARPSMITH_DRIVER_FUNCTIONS(X)                                                       \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                     \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetUuid)                  \
  X(cuDeviceTotalMem) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain)                   \
  X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxSetFlags) X(cuCtxSetCurrent)             \
  X(cuCtxSynchronize) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize)           \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuEventCreate)     \
  X(cuEventDestroy) X(cuEventRecord) X(cuEventRecordWithFlags) X(cuEventElapsedTime)        \
  X(cuGraphGetNodes) X(cuGraphInstantiate) X(cuGraphDestroy) X(cuGraphUpload)               \
  X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuModuleLoadData) X(cuModuleUnload)              \
  X(cuModuleGetFunction) X(cuModuleGetFunctionCount) X(cuModuleEnumerateFunctions)          \
  X(cuFuncGetName) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetParamInfo)        \
  X(cuFuncLoad) X(cuLaunchKernelEx) X(cuOccupancyMaxActiveClusters)                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuMemGetInfo) X(cuMemAlloc)              \
  X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemcpyHtoD) X(cuMemcpyDtoH)           \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemcpy2DAsync)         \
  X(cuMemsetD8Async) X(cuMemsetD2D8Async) X(cuMemGetAllocationGranularity) X(cuMemCreate)   \
  X(cuMemRelease) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)         \
  X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)    \
  X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress) X(cuCtxGetCurrent)                 \
  X(cuCtxGetDevice) X(cuThreadExchangeStreamCaptureMode) X(cuPointerGetAttribute)           \
  X(cuCtxResetPersistingL2Cache)
// clang-format on

struct DriverApi {
  WARPSMITH_DRIVER_FUNCTIONS(WARPSMITH_MEMBER)
};

// Opens libcuda once per process, without cuInit; refuses a driver older than we need.
const Result<DriverApi>& LoadDriverApi();

// The table of a driver that was opened: every resource of this folder exists only after that.
const DriverApi& Api();

// kUnavailable for a driver that is older than kOldestDriverVersion.
Status CheckDriverVersion(int version);

Error DriverError(const char* call, CUresult code, std::string detail);

// A driver call as a Status. `detail` names the argument that matters and is evaluated on failure
// only.
#define DRIVER_CALL(detail, name, ...)                      \
  [&]() -> Status {                                         \
    const CUresult driver_result = Api().name(__VA_ARGS__); \
    if (driver_result == CUDA_SUCCESS) return {};           \
    return DriverError(#name, driver_result, detail);       \
  }()

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_DRIVER_API_H_
