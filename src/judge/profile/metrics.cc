#include "judge/profile/metrics.h"

#include <charconv>
#include <cmath>

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

int ArchitectureNumber(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  int number = 0;
  const char* end = architecture.data() + architecture.size();
  const auto parsed = std::from_chars(architecture.data() + 3, end, number);
  const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  const bool known = parsed.ec == std::errc() && (rest.empty() || rest == "a" || rest == "f");
  return known ? number : 0;
}

}  // namespace warpsmith::profile
