#include "judge/profile/reading.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "judge/profile/metrics.h"

namespace warpsmith::profile {

const GlobalAccess kLoads = {metric::kLoadSectorUsePct, metric::kLoadSectorsPerRequest,
                             metric::kLoadSectors};
const GlobalAccess kStores = {metric::kStoreSectorUsePct, metric::kStoreSectorsPerRequest,
                              metric::kStoreSectors};

Reading::Reading(const KernelProfile& kernel, const ProblemFacts& facts, size_t launches)
    : kernel_(kernel), facts_(facts), launches_(launches) {
  double busiest = 0;
  for (const std::string_view unit :
       {metric::kSmPct, metric::kDramPct, metric::kL2Pct, metric::kL1Pct, metric::kIssuePct,
        metric::kTensorPct, metric::kFmaPct}) {
    const auto pct = At(unit);
    if (!pct) continue;
    has_counters_ = true;
    busiest = std::max(busiest, *pct);
  }
  if (has_counters_) exposed_ = std::clamp(1 - busiest / 100, 0.0, 1.0);
}

std::optional<double> Reading::At(std::string_view metric) const { return Find(kernel_, metric); }

double Reading::Or(std::string_view metric, double absent) const {
  return At(metric).value_or(absent);
}

std::vector<Citation> Reading::Cite(std::initializer_list<std::string_view> metrics) const {
  std::vector<Citation> cites;
  for (const std::string_view metric : metrics) {
    if (const auto value = At(metric)) cites.push_back({std::string(metric), *value});
  }
  return cites;
}

std::optional<double> Reading::StallShare(std::initializer_list<std::string_view> reasons) const {
  const auto all = At(metric::kWarpLatency);
  if (!all || *all <= 0) return std::nullopt;
  std::optional<double> these;
  for (const std::string_view reason : reasons) {
    if (const auto value = At(reason)) these = these.value_or(0) + std::max(*value, 0.0);
  }
  if (!these) return std::nullopt;
  return std::clamp(*these / *all, 0.0, 1.0);
}

// Bytes of a sector that were asked for say it exactly. They are 0 where only copies to shared
// memory (cp.async) move sectors: the counter does not know what those ask for. Sectors for each
// request only say it where they pass 16, what a warp's widest access needs.
std::optional<double> Reading::Wasted(const GlobalAccess& access) const {
  if (const auto pct = At(access.use_pct); pct && *pct > 0) {
    return std::clamp(1 - *pct / 100, 0.0, 1.0);
  }
  constexpr double kWidestAccess = 16;
  const auto sectors = At(access.sectors_per_request);
  if (!sectors || *sectors <= 0) return std::nullopt;
  return std::clamp(1 - kWidestAccess / *sectors, 0.0, 1.0);
}

double Reading::ShareOf(const GlobalAccess& access) const {
  const double all = Or(metric::kLoadSectors, 0) + Or(metric::kStoreSectors, 0);
  const auto these = At(access.sectors);
  return these && all > 0 ? std::clamp(*these / all, 0.0, 1.0) : 1;
}

double Reading::WastedSectors() const {
  double wasted = 0;
  for (const GlobalAccess& access : {kLoads, kStores}) {
    wasted += ShareOf(access) * Wasted(access).value_or(0);
  }
  return std::clamp(wasted, 0.0, 1.0);
}

double Reading::ConflictShare() const {
  const auto conflicts = At(metric::kBankConflicts);
  const auto wavefronts = At(metric::kSharedWavefronts);
  if (!conflicts || !wavefronts || *wavefronts <= 0) return 0;
  return std::clamp(*conflicts / *wavefronts, 0.0, 1.0);
}

std::string Rounded(double value) {
  char text[64];
  const double size = std::fabs(value);
  const int decimals = size >= 10 || size == std::floor(size) ? 0 : size >= 1 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", size >= 1e15 ? 0 : decimals,
                size >= 1e15 ? 1e15 : value);
  return text;
}

}  // namespace warpsmith::profile
