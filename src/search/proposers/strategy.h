// The search strategies behind one value: what the proposer adapter and the comparison drive.
#ifndef WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_
#define WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/proposer.h"
#include "core/space.h"
#include "search/proposers/guided_search.h"
#include "search/proposers/local_search.h"
#include "search/proposers/random_search.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

// Every strategy: Next(n) gives at most n indices not given before (none: the space is exhausted),
// Tell(index, score) answers one of them; both may come in any interleaving. Deterministic from the
// seed and the calls.
using Strategy = std::variant<RandomSearch, LocalSearch, GuidedSearch>;

// "random", "local", "guided".
std::span<const std::string_view> StrategyNames();
// Guided search for budgets of a dozen evaluations: few arms, nothing at random. It is no strategy
// of its own, and not compared with the others.
inline constexpr std::string_view kBrief = "brief";
// One of StrategyNames(), or kBrief; kUsage with the known names when there is no such strategy.
// `first`: indices to begin with; kUsage for strategies that cannot, "random" and "local".
Result<Strategy> MakeStrategy(std::string_view name, std::shared_ptr<const Terrain> terrain,
                              uint64_t seed, std::vector<int> first = {});

std::string_view NameOf(const Strategy& strategy);
std::vector<int> Next(Strategy& strategy, int n);
void Tell(Strategy& strategy, int index, double score);

// What a strategy is told of a step: its reward when it passed, kFailedScore otherwise.
double ScoreOf(const Step& step);

// The Proposer over a parametric space: a search strategy speaks of indices, this speaks of
// candidates.
class SpaceProposer final : public Proposer {
 public:
  // `strategy` is one that MakeStrategy knows; kUsage otherwise. `first`: points to begin with;
  // those outside the space are left out.
  static Result<std::unique_ptr<Proposer>> Create(std::string_view strategy,
                                                  std::shared_ptr<const Terrain> terrain,
                                                  CandidateMaker maker, uint64_t seed,
                                                  const std::vector<Point>& first = {});

  std::string_view Name() const override { return NameOf(strategy_); }
  // Candidates carry their point, this proposer's name and the batch they were proposed in.
  Result<std::vector<Proposal>> Propose(int n) override;
  // Steps are recognised by their provenance's point; one from outside the space is a bug.
  void Observe(const Step& step) override;

 private:
  SpaceProposer(Strategy strategy, std::shared_ptr<const Terrain> terrain, CandidateMaker maker);

  Strategy strategy_;
  std::shared_ptr<const Terrain> terrain_;
  CandidateMaker maker_;
  int64_t batches_ = 0;
};

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_STRATEGY_H_
