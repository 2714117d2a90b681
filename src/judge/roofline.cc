#include "judge/roofline.h"

#include <algorithm>
#include <array>

namespace warpsmith::judge {
namespace {

struct Part {
  std::string_view name_part;  // looked for in the driver's device name, first match wins
  PartRates rates;
};

// FLOP/s of dense FP16 tensor cores, bytes/s of device memory, bytes/s of L2. A device without a
// row has no rates of its own; then only what the driver tells of its memory bounds a time
// (oracle.cc).
constexpr std::array<Part, 8> kParts = {{
    {"GH200", {989e12, 4.9e12, 10e12}},
    {"H200", {989e12, 4.8e12, 10e12}},
    {"H100 NVL", {989e12, 3.94e12, 10e12}},
    {"H100 PCIe", {756e12, 2.04e12, 10e12}},
    {"H100", {989e12, 3.36e12, 10e12}},
    {"A100-SXM4-80GB", {312e12, 2.04e12, 7e12}},
    {"A100 80GB", {312e12, 1.94e12, 7e12}},
    {"A100", {312e12, 1.56e12, 7e12}},
}};

double Seconds(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

}  // namespace

PartRates RatesOf(std::string_view device_name) {
  for (const Part& part : kParts) {
    if (device_name.find(part.name_part) != std::string_view::npos) return part.rates;
  }
  return {};
}

Result<int64_t> CompulsoryBytes(const Task& task, const Workload& workload) {
  int64_t bytes = 0;
  for (const TensorSpec& tensor : task.tensors) bytes += TRY(TensorBytes(tensor, workload.sizes));
  return bytes;
}

Result<double> RooflineUs(const DeviceInfo& device, const Task& task, const Workload& workload,
                          Mode mode) {
  const auto flops = static_cast<double>(TRY(task.flops.Evaluate(workload.sizes)));
  const auto bytes = static_cast<double>(TRY(CompulsoryBytes(task, workload)));
  const bool hot = mode == Mode::kDeviceHot || mode == Mode::kOffline;
  // What does not fit in L2 must come from memory even when "hot".
  const double beyond_l2 = std::max(0.0, bytes - static_cast<double>(device.l2_bytes));
  const double memory_bytes = hot ? beyond_l2 : bytes;
  const double seconds = std::max({Seconds(flops, device.tensor_f16_flops),
                                   Seconds(memory_bytes, device.hbm_bytes_per_s),
                                   Seconds(bytes, device.l2_bytes_per_s)});
  return seconds * 1e6;
}

}  // namespace warpsmith::judge
