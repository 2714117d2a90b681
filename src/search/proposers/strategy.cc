#include "search/proposers/strategy.h"

#include <array>
#include <string>
#include <utility>
#include <variant>

#include "base/text.h"

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

std::span<const std::string_view> StrategyNames() {
  static constexpr std::array<std::string_view, 3> kNames = {
      RandomSearch::kName, LocalSearch::kName, GuidedSearch::kName};
  return kNames;
}

Result<Strategy> MakeStrategy(std::string_view name, std::shared_ptr<const Terrain> terrain,
                              uint64_t seed, std::vector<int> first) {
  GuidedOptions options;
  options.first = std::move(first);
  if (name == GuidedSearch::kName) return Strategy(GuidedSearch(std::move(terrain), seed, options));
  if (name == kBrief) {
    options.starting_arms = 5;
    options.exploration = 0;
    return Strategy(GuidedSearch(std::move(terrain), seed, options));
  }
  if (!options.first.empty()) {
    return Error{ErrorCode::kUsage,
                 "the search '" + std::string(name) + "' cannot begin with given points",
                 "choose one of: guided, brief"};
  }
  if (name == RandomSearch::kName) return Strategy(RandomSearch(terrain, seed));
  if (name == LocalSearch::kName) return Strategy(LocalSearch(std::move(terrain), seed));
  return Error{ErrorCode::kUsage, "no search strategy is called '" + std::string(name) + "'",
               "choose one of: " + Joined(StrategyNames()) + ", " + std::string(kBrief)};
}

std::string_view NameOf(const Strategy& strategy) {
  return std::visit([](const auto& search) { return search.kName; }, strategy);
}

std::vector<int> Next(Strategy& strategy, int n) {
  return std::visit([n](auto& search) { return search.Next(n); }, strategy);
}

void Tell(Strategy& strategy, int index, double score) {
  std::visit([index, score](auto& search) { search.Tell(index, score); }, strategy);
}

}  // namespace warpsmith::proposers
