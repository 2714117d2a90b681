#include "core/ranking.h"

#include <algorithm>

namespace warpsmith {

std::optional<double> RankingRatio(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  const Comparison& bar = timing->comparisons.front();
  const auto measured = std::ranges::find(timing->baselines, bar.baseline, &ContenderTiming::name);
  const double us = timing->candidate.median_us;
  if (measured == timing->baselines.end() || !(us > 0)) return bar.ratio;
  return std::min(bar.ratio, measured->median_us / us);
}

}  // namespace warpsmith
