#include "judge/timing_table.h"

#include <cmath>
#include <utility>

#include "judge/statistics.h"

namespace warpsmith::judge {

bool IsAgain(std::string_view label) { return label.ends_with(kAgainSuffix); }

ModeTiming TimingOf(Mode mode, double roofline_us, const std::vector<ContenderSamples>& contenders,
                    const Protocol& protocol) {
  ModeTiming timing;
  timing.mode = mode;
  timing.roofline_us = roofline_us;
  for (const ContenderSamples& contender : contenders) {
    ContenderTiming one{contender.label, 0, {}, contender.samples, contender.gpu_busy_us};
    Summarise(one, protocol.confidence);
    if (contender.is_candidate) {
      timing.candidate = std::move(one);
    } else {
      timing.baselines.push_back(std::move(one));
    }
  }
  for (const ContenderTiming& baseline : timing.baselines) {
    const bool again = IsAgain(baseline.name);
    const ContenderTiming& other = again ? timing.baselines.front() : timing.candidate;
    const Comparison comparison = Compare(baseline, other, protocol.confidence, protocol.band);
    if (again) {
      timing.aa_noise = std::fabs(comparison.ratio - 1);
    } else {
      timing.comparisons.push_back(comparison);
    }
  }
  timing.below_roofline = timing.candidate.median_us < roofline_us;
  return timing;
}

double HalfWidthOf(const std::vector<ContenderSamples>& contenders, double confidence) {
  const std::vector<Sample>& candidate = contenders.front().samples;
  if (contenders.size() < 2) return HalfWidth(EstimateOf(RoundMedians(candidate), confidence));
  return HalfWidth(EstimateOf(PairedLogRatios(contenders[1].samples, candidate), confidence));
}

}  // namespace warpsmith::judge
