// NVML: clocks, temperature and power beside each sample. Its header is not part of every toolkit,
// so nvml.cc declares the few functions of libnvidia-ml.so.1 that it calls.
#ifndef WARPSMITH_CUDA_NVML_H_
#define WARPSMITH_CUDA_NVML_H_

#include <string>

#include "base/result.h"

namespace warpsmith::cuda {

// What the device did not tell is 0.
struct Telemetry {
  double sm_mhz = 0, temperature_c = 0, power_w = 0;
};

// Thread-safe.
class TelemetryReader {
 public:
  static Result<TelemetryReader> Open(const std::string& uuid);  // "GPU-..."

  Telemetry Read() const;  // ~20 us
  double max_sm_mhz() const { return max_sm_mhz_; }

 private:
  TelemetryReader(void* device, double max_sm_mhz) : device_(device), max_sm_mhz_(max_sm_mhz) {}
  void* device_;
  double max_sm_mhz_;
};

Result<std::string> DriverRelease();  // "580.95.05"

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_NVML_H_
