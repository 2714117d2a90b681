// The search strategies behind one value: what the proposer adapter and the comparison drive.
#ifndef WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_
#define WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/proposer.h"
#include "core/space.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

// Every strategy: next(n) gives at most n indices not given before (none: the space is exhausted),
// tell(index, score) answers one of them; both may come in any interleaving. Deterministic from the
// seed and the calls.
struct Strategy {
  std::string_view name;
  std::function<std::vector<int>(int n)> next;
  std::function<void(int index, double score)> tell;
};

// "random", "local", "guided".
std::span<const std::string_view> StrategyNames();
// Guided search for budgets of a dozen evaluations: few arms, nothing at random. It is no strategy
// of its own, and not compared with the others.
inline constexpr std::string_view kBrief = "brief";
// One of StrategyNames(), or kBrief; kUsage with the known names when there is no such strategy.
// `first`: indices to begin with; kUsage for strategies that cannot, "random" and "local".
Result<Strategy> MakeStrategy(std::string_view name, std::shared_ptr<const Terrain> terrain,
                              uint64_t seed, std::vector<int> first = {});

// What a strategy is told of a step: its reward when it passed, kFailedScore otherwise.
double ScoreOf(const Step& step);

// The Proposer over a parametric space: a search strategy speaks of indices, this speaks of
// candidates. Candidates carry their point, the strategy's name and the batch they were proposed in;
// steps are recognised by that point, and one from outside the space is a bug. `strategy` is one that
// MakeStrategy knows; kUsage otherwise. `first`: points to begin with; those outside the space are
// left out.
Result<std::unique_ptr<Proposer>> MakeSpaceProposer(std::string_view strategy,
                                                    std::shared_ptr<const Terrain> terrain,
                                                    CandidateMaker maker, uint64_t seed,
                                                    const std::vector<Point>& first = {});

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_
