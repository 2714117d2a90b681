// By what one verdict is preferred to another when few rounds were measured.
#ifndef WARPSMITH_CORE_RANKING_H_
#define WARPSMITH_CORE_RANKING_H_

#include <optional>

#include "core/verdict.h"

namespace warpsmith {

// The smaller of the ratio to the bar and of the ratio of the two medians: one disturbed round of
// the bar moves the first and not the second. Nullopt when not passed or not compared.
std::optional<double> RankingRatio(const Verdict& verdict, Mode mode);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_RANKING_H_
