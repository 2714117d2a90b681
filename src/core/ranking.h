// By what one verdict is preferred to another when few rounds were measured.
#ifndef WARPSMITH_CORE_RANKING_H_
#define WARPSMITH_CORE_RANKING_H_

#include <optional>

#include "core/verdict.h"

namespace warpsmith {

// The smaller of the paired ratio to the bar and of the ratio of the two medians: one disturbed
// round of the bar moves the first and not the second. Without a median of ours: the paired one.
double CautiousRatio(double paired, double candidate_us, double primary_us);

// Of the verdict's first comparison. Nullopt when not passed or not compared.
std::optional<double> RankingRatio(const Verdict& verdict, Mode mode);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_RANKING_H_
