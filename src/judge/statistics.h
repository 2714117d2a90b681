// From raw samples to medians, paired ratios, intervals and findings.
//
// A round's value is the median of its samples; a ratio is taken inside one round, where both
// contenders met the same clocks and temperatures. Rounds of one process share whatever that
// process drew (addresses, module placement), so with several processes the process is the unit:
// Student's t over the processes' medians. With one process the rounds are the units, and the
// interval knows nothing of what another process would have drawn.
#ifndef WARPSMITH_JUDGE_STATISTICS_H_
#define WARPSMITH_JUDGE_STATISTICS_H_

#include <vector>

#include "core/protocol.h"
#include "core/verdict.h"

namespace warpsmith::judge {

// The natural logarithm of one round's time or ratio.
struct RoundLog {
  int process = 0;
  int round = 0;
  double value = 0;
};

// The median of every (process, round), by rising process and round.
std::vector<RoundLog> RoundMedians(const std::vector<Sample>& samples);

// log(baseline / candidate) of every round that has samples of both.
std::vector<RoundLog> PairedLogRatios(const std::vector<Sample>& baseline,
                                      const std::vector<Sample>& candidate);

// exp(centre) with its interval; {0, inf} when there are too few independent units to say.
Estimate EstimateOf(const std::vector<RoundLog>& rounds, double confidence);

// Half the interval's width, relative to its centre; infinite when the interval is.
double HalfWidth(const Estimate& estimate);

// Whether enough is known of a ratio (baseline / candidate): its interval is as narrow as the
// protocol asks, or, where candidates are only screened, lies wholly below a half: such a candidate
// loses by however much. No place that would please a candidate ends a contest: one that went on
// until it liked the winner would find one.
bool IsKnownWellEnough(const Estimate& ratio, const Protocol& protocol);

// kSame: the whole interval lies within the band; otherwise kFaster or kSlower when it excludes 1.
Finding FindingOf(const Interval& ratio, double band);

// The candidate against one baseline: baseline / candidate over the rounds that have both, so that
// above 1 the candidate is faster. Without two such rounds the interval is {0, inf}.
Comparison Compare(const ContenderTiming& baseline, const ContenderTiming& candidate,
                   double confidence, double band);

// Fills median_us and interval_us from the samples.
void Summarise(ContenderTiming& timing, double confidence);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_STATISTICS_H_
