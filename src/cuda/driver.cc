#include "cuda/driver.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "cuda/driver_api.h"

namespace warpsmith::cuda {
namespace {

std::string UuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += digits.data();
  }
  return text;
}

struct AttributeField {
  CUdevice_attribute attribute;
  int DeviceProperties::*field;
};

constexpr AttributeField kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &DeviceProperties::compute_major},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &DeviceProperties::compute_minor},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &DeviceProperties::sm_count},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     &DeviceProperties::max_shared_bytes_per_block},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
     &DeviceProperties::max_shared_bytes_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &DeviceProperties::max_threads_per_sm},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &DeviceProperties::sm_clock_khz},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &DeviceProperties::memory_clock_khz},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &DeviceProperties::memory_bus_bits},
};

std::string ListDevices(const std::vector<DeviceProperties>& devices) {
  std::string text;
  for (const DeviceProperties& device : devices) {
    text += (text.empty() ? "" : ", ") + std::to_string(device.ordinal) + ": " + device.name + " " +
            device.uuid;
  }
  return text.empty() ? "none" : text;
}

Error UnknownDevice(const std::vector<DeviceProperties>& devices, std::string_view wanted,
                    std::string_view trouble) {
  return Error{ErrorCode::kUnknownDevice,
               "device '" + std::string(wanted) + "' " + std::string(trouble) +
                   "; devices here: " + ListDevices(devices),
               "give an index, a UUID or a unique prefix of one"};
}

// A bare run of digits is an index, never the start of a UUID.
bool IsIndex(std::string_view text) {
  return text.size() <= 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void UseOnlyDevice(const std::string& uuid) {
  if (!uuid.empty()) setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
}

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

double DeviceProperties::memory_bytes_per_s() const {
  return 2.0 * memory_clock_khz * 1e3 * memory_bus_bits / 8;
}

std::string ArchitectureOf(const DeviceProperties& device) {
  const int capability = device.compute_capability();
  return "sm_" + std::to_string(capability) + (capability >= 90 ? "a" : "");
}

Result<const Driver*> Driver::Open() {
  static const Result<Driver> driver = Start();
  if (!driver.ok()) return driver.error();
  return &*driver;
}

Result<Driver> Driver::Start() {
  if (!LoadDriverApi().ok()) return LoadDriverApi().error();
  TRY(DRIVER_CALL("", cuInit, 0));
  int version = 0;
  TRY(DRIVER_CALL("", cuDriverGetVersion, &version));
  int count = 0;
  TRY(DRIVER_CALL("", cuDeviceGetCount, &count));
  if (count == 0) {
    return Error{ErrorCode::kUnavailable, "the driver is here but shows no GPU",
                 "check CUDA_VISIBLE_DEVICES and the container's --gpus"};
  }
  return Driver(version, count);
}

Result<DeviceProperties> Driver::Properties(int ordinal) const {
  const auto which = [&] { return "device " + std::to_string(ordinal); };
  CUdevice device = 0;
  TRY(DRIVER_CALL(which(), cuDeviceGet, &device, ordinal));
  DeviceProperties properties;
  properties.ordinal = ordinal;
  std::array<char, 256> name{};
  TRY(DRIVER_CALL(which(), cuDeviceGetName, name.data(), name.size(), device));
  properties.name = name.data();
  CUuuid uuid{};
  TRY(DRIVER_CALL(which(), cuDeviceGetUuid, &uuid, device));
  properties.uuid = UuidText(uuid);
  size_t memory_bytes = 0;
  TRY(DRIVER_CALL(which(), cuDeviceTotalMem, &memory_bytes, device));
  properties.memory_bytes = static_cast<int64_t>(memory_bytes);
  for (const AttributeField& field : kAttributes) {
    TRY(DRIVER_CALL(which() + ", attribute " + std::to_string(field.attribute),
                    cuDeviceGetAttribute, &(properties.*field.field), field.attribute, device));
  }
  int l2_bytes = 0;
  TRY(DRIVER_CALL(which(), cuDeviceGetAttribute, &l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                  device));
  properties.l2_bytes = l2_bytes;
  return properties;
}

Result<std::vector<DeviceProperties>> Driver::Devices() const {
  std::vector<DeviceProperties> devices;
  for (int ordinal = 0; ordinal < device_count_; ++ordinal) {
    devices.push_back(TRY(Properties(ordinal)));
  }
  return devices;
}

Result<DeviceProperties> Driver::FindDevice(std::string_view wanted) const {
  return ChooseDevice(TRY(Devices()), wanted);
}

Result<DeviceProperties> ChooseDevice(const std::vector<DeviceProperties>& devices,
                                      std::string_view wanted) {
  if (wanted.empty()) wanted = "0";
  const DeviceProperties* found = nullptr;
  for (const DeviceProperties& device : devices) {
    const bool matches = IsIndex(wanted)
                             ? wanted == std::to_string(device.ordinal)
                             : device.uuid.starts_with(wanted) ||
                                   std::string_view(device.uuid).substr(4).starts_with(wanted);
    if (!matches) continue;
    if (found != nullptr) return UnknownDevice(devices, wanted, "names more than one");
    found = &device;
  }
  if (found == nullptr) return UnknownDevice(devices, wanted, "is not here");
  return *found;
}

}  // namespace warpsmith::cuda
