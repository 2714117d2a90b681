#include "cuda/context.h"

#include <cuda.h>

#include <utility>

#include "cuda/driver_api.h"
#include "cuda/library.h"

namespace warpsmith::cuda {
namespace {

// Looked up when asked for: nothing else that we do needs these.
Status Call(const char* name) {
  const Library library = TRY(Library::Open("libcuda.so.1", "install the NVIDIA driver"));
  const auto function = reinterpret_cast<CUresult (*)()>(TRY(library.Symbol(name)));
  const CUresult code = function();
  if (code == CUDA_SUCCESS) return {};
  return DriverError(name, code, "");
}

}  // namespace

Status OpenProfilerWindow() { return Call("cuProfilerStart"); }
Status CloseProfilerWindow() { return Call("cuProfilerStop"); }

Context::Context(DeviceProperties device, CUctx_st* handle)
    : device_(std::move(device)), handle_(handle) {}

Context::Context(Context&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Context::~Context() {
  if (handle_ != nullptr) Api().cuDevicePrimaryCtxRelease(device_.ordinal);
}

Result<Context> Context::Retain(const DeviceProperties& device, HostWait wait) {
  TRY(Driver::Open());
  const unsigned flags = wait == HostWait::kSpin ? CU_CTX_SCHED_SPIN : CU_CTX_SCHED_BLOCKING_SYNC;
  TRY(DRIVER_CALL(device.name, cuDevicePrimaryCtxSetFlags, device.ordinal, flags));
  CUcontext handle = nullptr;
  TRY(DRIVER_CALL(device.name, cuDevicePrimaryCtxRetain, &handle, device.ordinal));
  Context context(device, handle);
  TRY(context.MakeCurrent());
  return context;
}

Status Context::MakeCurrent() const { return DRIVER_CALL(device_.name, cuCtxSetCurrent, handle_); }

Status Context::Synchronize() const {
  TRY(MakeCurrent());
  return DRIVER_CALL(device_.name, cuCtxSynchronize);
}

Status Context::ResetPersistingL2() const {
  const CUresult result = Api().cuCtxResetPersistingL2Cache();
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_SUPPORTED) return {};
  return DriverError("cuCtxResetPersistingL2Cache", result, device_.name);
}

}  // namespace warpsmith::cuda
