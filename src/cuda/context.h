// A device's primary context. Every other class of this folder works in the context that is current
// in the calling thread.
#ifndef WARPSMITH_CUDA_CONTEXT_H_
#define WARPSMITH_CUDA_CONTEXT_H_

#include <cstdint>

#include "base/result.h"
#include "cuda/driver.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// What a host thread does while it waits for the device.
enum class HostWait : uint8_t {
  kSpin,   // lowest latency, one core busy
  kBlock,  // sleeps
};

class Context {
 public:
  // Retains the primary context and makes it current in this thread.
  static Result<Context> Retain(const DeviceProperties& device, HostWait wait = HostWait::kSpin);
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  ~Context();

  // For every further thread that uses the device.
  Status MakeCurrent() const;
  // Waits for everything submitted. Reports a kernel's fault (illegal address, ...) too; after one
  // the context is lost and every call fails with the same code.
  Status Synchronize() const;
  // Lines that were to be the last to leave L2 (access policies, evict_last) are like the others
  // afterwards, whoever made them so. Does nothing on devices that know no such lines.
  Status ResetPersistingL2() const;
  const DeviceProperties& device() const { return device_; }

 private:
  Context(DeviceProperties device, CUctx_st* handle);
  DeviceProperties device_;
  CUctx_st* handle_;
};

// The part of a process that a profiler looks at (ncu --profile-from-start off).
// Without a profiler both do nothing. kUnavailable when the driver lacks the call.
Status OpenProfilerWindow();
Status CloseProfilerWindow();

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_CONTEXT_H_
