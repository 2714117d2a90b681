#include "core/ranking.h"

#include <algorithm>

namespace warpsmith {

double CautiousRatio(double paired, double candidate_us, double primary_us) {
  return candidate_us > 0 ? std::min(paired, primary_us / candidate_us) : paired;
}

std::optional<double> RankingRatio(const Verdict& verdict, Mode mode) {
  const ModeTiming* timing = FindComparison(verdict, mode);
  if (timing == nullptr) return std::nullopt;
  const Comparison& primary = timing->comparisons.front();
  const auto measured =
      std::ranges::find(timing->baselines, primary.baseline, &ContenderTiming::name);
  if (measured == timing->baselines.end()) return primary.ratio;
  return CautiousRatio(primary.ratio, timing->candidate.median_us, measured->median_us);
}

}  // namespace warpsmith
