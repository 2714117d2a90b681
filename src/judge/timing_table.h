// A mode's samples as the timing of a verdict: medians, intervals, comparisons.
#ifndef WARPSMITH_JUDGE_TIMING_TABLE_H_
#define WARPSMITH_JUDGE_TIMING_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/protocol.h"
#include "core/verdict.h"

namespace warpsmith::judge {

struct ContenderSamples {
  std::string label;
  bool is_candidate = false;
  std::vector<Sample> samples;
  double gpu_busy_us = 0;
};

inline constexpr std::string_view kAgainSuffix = "/again";  // the bar against itself
bool IsAgain(std::string_view label);

// The candidate comes first, then the bar.
ModeTiming TimingOf(Mode mode, double roofline_us, const std::vector<ContenderSamples>& contenders,
                    const Protocol& protocol);

// Half the width of the interval of the ratio to the bar, or of the candidate's own time where
// there is none.
double HalfWidthOf(const std::vector<ContenderSamples>& contenders, double confidence);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TIMING_TABLE_H_
