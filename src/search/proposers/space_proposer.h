// The Proposer over a parametric space: a search strategy speaks of indices, this speaks of
// candidates.
#ifndef WARPSMITH_SEARCH_PROPOSERS_SPACE_PROPOSER_H_
#define WARPSMITH_SEARCH_PROPOSERS_SPACE_PROPOSER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/proposer.h"
#include "core/space.h"
#include "search/proposers/strategy.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

// What a strategy is told of a step: its reward when it passed, kFailedScore otherwise.
double ScoreOf(const Step& step);

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

#endif  // WARPSMITH_SEARCH_PROPOSERS_SPACE_PROPOSER_H_
