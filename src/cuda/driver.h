// The CUDA driver of this machine and its devices. Thread-safe.
#ifndef WARPSMITH_CUDA_DRIVER_H_
#define WARPSMITH_CUDA_DRIVER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::cuda {

inline constexpr int kOldestDriverVersion = 13000;  // as cuDriverGetVersion counts: 13.0

// "13.0" of 13000.
std::string VersionText(int version);

struct DeviceProperties {
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-8f2c..."
  int compute_major = 0, compute_minor = 0;
  int sm_count = 0;
  int max_shared_bytes_per_block = 0;  // with opt-in
  int max_shared_bytes_per_sm = 0;
  int max_threads_per_sm = 0;
  int64_t l2_bytes = 0, memory_bytes = 0;
  int sm_clock_khz = 0, memory_clock_khz = 0;  // maxima; 0: not told
  int memory_bus_bits = 0;

  int compute_capability() const { return compute_major * 10 + compute_minor; }
  // HBM peak: two transfers a memory clock. 0 when the driver does not tell the clock.
  double memory_bytes_per_s() const;
};

// "sm_90a" for 9.0: the architecture-specific target where CUDA has one (9.0 and later).
std::string ArchitectureOf(const DeviceProperties& device);

class Driver {
 public:
  // Opens libcuda and calls cuInit once per process; the answer is kept. kUnavailable: no driver,
  // no GPU, or a driver older than 13.0.
  static Result<const Driver*> Open();

  int version() const { return version_; }  // 13000: CUDA 13.0
  int device_count() const { return device_count_; }
  Result<DeviceProperties> Properties(int ordinal) const;  // from 0, below device_count()
  Result<std::vector<DeviceProperties>> Devices() const;   // by ordinal
  // By index ("0"), UUID or a unique prefix of it ("GPU-8f2c", "8f2c"); "" is device 0.
  // kUnknownDevice lists what is here.
  Result<DeviceProperties> FindDevice(std::string_view wanted) const;

 private:
  Driver(int version, int device_count) : version_(version), device_count_(device_count) {}
  static Result<Driver> Start();
  int version_, device_count_;
};

// FindDevice's choice among given devices.
Result<DeviceProperties> ChooseDevice(const std::vector<DeviceProperties>& devices,
                                      std::string_view wanted);

// Which device a process sees.
// Before CUDA is opened: this process and its children see that device alone, as number 0. Others'
// code takes number 0 in every thread that has not chosen. Nothing for an empty `uuid`.
void UseOnlyDevice(const std::string& uuid);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_DRIVER_H_
