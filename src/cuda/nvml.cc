#include "cuda/nvml.h"

#include <array>

#include "cuda/failure.h"
#include "cuda/library.h"

// The part of nvml.h that is used here, as its reference manual gives it.
extern "C" {
struct nvmlDevice_st;
int nvmlInit_v2();
const char* nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char* version, unsigned length);
int nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_st** device);
int nvmlDeviceGetClockInfo(nvmlDevice_st* device, int type, unsigned* mhz);
int nvmlDeviceGetMaxClockInfo(nvmlDevice_st* device, int type, unsigned* mhz);
int nvmlDeviceGetTemperature(nvmlDevice_st* device, int sensor, unsigned* celsius);
int nvmlDeviceGetPowerUsage(nvmlDevice_st* device, unsigned* milliwatts);
}

namespace warpsmith::cuda {
namespace {

constexpr int kNvmlSuccess = 0;
constexpr int kClockSm = 1;         // nvmlClockType_t
constexpr int kTemperatureGpu = 0;  // nvmlTemperatureSensors_t

struct NamedCode {
  int code;
  const char* name;
};
constexpr NamedCode kCodes[] = {
    {1, "NVML_ERROR_UNINITIALIZED"}, {2, "NVML_ERROR_INVALID_ARGUMENT"},
    {3, "NVML_ERROR_NOT_SUPPORTED"}, {4, "NVML_ERROR_NO_PERMISSION"},
    {6, "NVML_ERROR_NOT_FOUND"},     {9, "NVML_ERROR_DRIVER_NOT_LOADED"},
    {15, "NVML_ERROR_GPU_IS_LOST"},  {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"},
    {999, "NVML_ERROR_UNKNOWN"},
};

// clang-format off
#define WARPSMITH_NVML_FUNCTIONS(X)                                                   \
  X(nvmlInit_v2) X(nvmlErrorString) X(nvmlSystemGetDriverVersion)                     \
  X(nvmlDeviceGetHandleByUUID) X(nvmlDeviceGetClockInfo) X(nvmlDeviceGetMaxClockInfo) \
  X(nvmlDeviceGetTemperature) X(nvmlDeviceGetPowerUsage)
// clang-format on

struct NvmlApi {
  WARPSMITH_NVML_FUNCTIONS(WARPSMITH_MEMBER)
};

Error NvmlError(const NvmlApi& api, const char* call, int code, const std::string& detail) {
  std::string name = "NVML_ERROR_" + std::to_string(code);
  for (const NamedCode& row : kCodes) {
    if (row.code == code) name = row.name;
  }
  Error error = ErrorFrom({call, name, api.nvmlErrorString(code), detail});
  if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kUnavailable;
  return error;
}

Result<NvmlApi> LoadNvml() {
  const Library library =
      TRY(Library::Open("libnvidia-ml.so.1", "it comes with the NVIDIA driver: install that"));
  NvmlApi api;
  const SymbolSlot slots[] = {WARPSMITH_NVML_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  const int code = api.nvmlInit_v2();
  if (code != kNvmlSuccess) return NvmlError(api, "nvmlInit_v2", code, "");
  return api;
}

Result<const NvmlApi*> NvmlTable() {
  static const Result<NvmlApi> api = LoadNvml();
  if (!api.ok()) return api.error();
  return &*api;
}

// A reading, or 0 where the device does not tell.
template <typename Call>
double ReadingOf(Call call) {
  unsigned value = 0;
  return call(&value) == kNvmlSuccess ? value : 0;
}

}  // namespace

Result<TelemetryReader> TelemetryReader::Open(const std::string& uuid) {
  const NvmlApi* api = TRY(NvmlTable());
  nvmlDevice_st* device = nullptr;
  int code = api->nvmlDeviceGetHandleByUUID(uuid.c_str(), &device);
  if (code != kNvmlSuccess && uuid.starts_with("GPU-")) {
    // CUDA shows a MIG slice under the same digits.
    code = api->nvmlDeviceGetHandleByUUID(("MIG-" + uuid.substr(4)).c_str(), &device);
  }
  if (code != kNvmlSuccess) return NvmlError(*api, "nvmlDeviceGetHandleByUUID", code, uuid);
  const double max_sm_mhz = ReadingOf(
      [&](unsigned* mhz) { return api->nvmlDeviceGetMaxClockInfo(device, kClockSm, mhz); });
  return TelemetryReader(device, max_sm_mhz);
}

Telemetry TelemetryReader::Read() const {
  const NvmlApi* api = *NvmlTable();
  auto* device = static_cast<nvmlDevice_st*>(device_);
  Telemetry telemetry;
  telemetry.sm_mhz =
      ReadingOf([&](unsigned* mhz) { return api->nvmlDeviceGetClockInfo(device, kClockSm, mhz); });
  telemetry.temperature_c = ReadingOf([&](unsigned* celsius) {
    return api->nvmlDeviceGetTemperature(device, kTemperatureGpu, celsius);
  });
  telemetry.power_w = 1e-3 * ReadingOf([&](unsigned* milliwatts) {
                        return api->nvmlDeviceGetPowerUsage(device, milliwatts);
                      });
  return telemetry;
}

Result<std::string> DriverRelease() {
  const NvmlApi* api = TRY(NvmlTable());
  std::array<char, 96> version{};
  const int code = api->nvmlSystemGetDriverVersion(version.data(), version.size());
  if (code != kNvmlSuccess) return NvmlError(*api, "nvmlSystemGetDriverVersion", code, "");
  return std::string(version.data());
}

}  // namespace warpsmith::cuda
