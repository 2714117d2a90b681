#include "judge/profile/metrics.h"

#include <cmath>

#include "core/device.h"

namespace warpsmith::profile {

std::vector<std::string> CounterSet(std::string_view architecture) {
#define WARPSMITH_NAME(name, text) text,
  std::vector<std::string> names = {WARPSMITH_COUNTERS(WARPSMITH_NAME)};
#undef WARPSMITH_NAME
  if (ArchitectureNumber(architecture) == 90) names.emplace_back(metric::kStallGmma);
  return names;
}

std::optional<double> Find(const KernelProfile& kernel, std::string_view name) {
  for (const auto& [known, value] : kernel.metrics) {
    if (known != name) continue;
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace warpsmith::profile
