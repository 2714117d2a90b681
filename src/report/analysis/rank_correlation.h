// Spearman's rank correlation.
#ifndef WARPSMITH_REPORT_ANALYSIS_RANK_CORRELATION_H_
#define WARPSMITH_REPORT_ANALYSIS_RANK_CORRELATION_H_

#include <optional>
#include <span>

namespace warpsmith::analysis {

// Fewer pairs than this say nothing of a trend.
inline constexpr int kFewestForCorrelation = 8;

// In [-1, 1]; values that are equal share their ranks' mean. Nullopt for too few pairs, and where
// one side never changes. Both sides are of one length.
std::optional<double> RankCorrelation(std::span<const double> xs, std::span<const double> ys);

// What pairs that have nothing to do with each other reach in one draw of 500, either way: a
// correlation's spread then is 1 / sqrt(pairs - 1), whatever the ties.
double ChanceCorrelation(int pairs);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_RANK_CORRELATION_H_
