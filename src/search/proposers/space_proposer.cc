#include "search/proposers/space_proposer.h"

#include <utility>
#include <variant>

namespace warpsmith::proposers {

double ScoreOf(const Step& step) {
  return std::holds_alternative<Passed>(step.verdict.outcome) ? step.reward : kFailedScore;
}

Result<std::unique_ptr<Proposer>> SpaceProposer::Create(std::string_view strategy,
                                                        std::shared_ptr<const Terrain> terrain,
                                                        CandidateMaker maker, uint64_t seed,
                                                        const std::vector<Point>& first) {
  std::vector<int> indices;
  for (const Point& point : first) {
    const int index = terrain->space().Find(point);
    if (index >= 0) indices.push_back(index);
  }
  Strategy chosen = TRY(MakeStrategy(strategy, terrain, seed, std::move(indices)));
  return std::unique_ptr<Proposer>(
      new SpaceProposer(std::move(chosen), std::move(terrain), std::move(maker)));
}

SpaceProposer::SpaceProposer(Strategy strategy, std::shared_ptr<const Terrain> terrain,
                             CandidateMaker maker)
    : strategy_(std::move(strategy)), terrain_(std::move(terrain)), maker_(std::move(maker)) {}

Result<std::vector<Proposal>> SpaceProposer::Propose(int n) {
  std::vector<Proposal> proposals;
  const std::string group = std::string(Name()) + "/" + std::to_string(batches_++);
  for (const int index : Next(strategy_, n)) {
    const Point& point = terrain_->space().points()[index];
    Candidate candidate = TRY(maker_(point));
    candidate.provenance.proposer = Name();
    candidate.provenance.group = group;
    candidate.provenance.family = point.family;
    candidate.provenance.config = point.config;
    proposals.push_back({std::move(candidate), {}, {}});
  }
  return proposals;
}

void SpaceProposer::Observe(const Step& step) {
  const Provenance& from = step.candidate.provenance;
  const int index = terrain_->space().Find(Point{from.family, from.config});
  CHECK(index >= 0);
  Tell(strategy_, index, ScoreOf(step));
}

}  // namespace warpsmith::proposers
