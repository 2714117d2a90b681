#include "core/ranking.h"

#include <algorithm>

namespace warpsmith {

double CautiousRatio(double paired, double candidate_us, double bar_us) {
  return candidate_us > 0 ? std::min(paired, bar_us / candidate_us) : paired;
}

std::optional<double> RankingRatio(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  const Comparison& bar = timing->comparisons.front();
  const auto measured = std::ranges::find(timing->baselines, bar.baseline, &ContenderTiming::name);
  if (measured == timing->baselines.end()) return bar.ratio;
  return CautiousRatio(bar.ratio, timing->candidate.median_us, measured->median_us);
}

}  // namespace warpsmith
