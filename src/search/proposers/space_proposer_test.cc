#include "search/proposers/space_proposer.h"

#include <gmock/gmock.h>

namespace warpsmith::proposers {
namespace {

std::shared_ptr<const Terrain> SmallTerrain() {
  std::vector<Point> points;
  for (int64_t a = 0; a < 6; ++a) {
    for (int64_t b = 0; b < 6; ++b) points.push_back({"f", {{"a", a}, {"b", b}}});
  }
  return std::make_shared<Terrain>(Space("small", std::move(points)), [](const Point& point) {
    return 1.0 + static_cast<double>(point.config.at("a"));
  });
}

Result<Candidate> Make(const Point& point) {
  Candidate candidate;
  candidate.sources["k.cu"] = PointName(point);
  candidate.entry = "k.cu";
  return candidate;
}

std::unique_ptr<Proposer> MakeProposer(std::string_view strategy) {
  return std::move(SpaceProposer::Create(strategy, SmallTerrain(), Make, 9)).value();
}

// As the loop would commit it; every fifth fails.
Step Judge(const Candidate& candidate, int64_t index) {
  Step step;
  step.index = index;
  step.candidate = candidate;
  const Config& config = candidate.provenance.config;
  if ((config.at("a") + config.at("b")) % 5 == 0) {
    step.verdict.outcome = Incorrect{.detector = "bound", .detail = "off"};
  } else {
    step.verdict.outcome = Passed{};
    step.reward = 1.0 / static_cast<double>(1 + config.at("a") * config.at("b"));
  }
  return step;
}

std::vector<std::string> Names(const std::vector<Proposal>& proposals) {
  std::vector<std::string> names;
  for (const Proposal& one : proposals) names.push_back(one.candidate.sources.at("k.cu"));
  return names;
}

// One generation; its steps are appended to `log`.
std::vector<std::string> Turn(Proposer& proposer, Trajectory& log) {
  const std::vector<Proposal> batch = proposer.Propose(4).value();
  for (const auto& [candidate, cost, refusal] : batch) {
    log.push_back(Judge(candidate, static_cast<int64_t>(log.size())));
    proposer.Observe(log.back());
  }
  return Names(batch);
}

class EveryProposer : public testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(Strategies, EveryProposer, testing::ValuesIn(StrategyNames()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EveryProposer, ResumesExactlyByReplayingStoredSteps) {
  for (int stop_after = 0; stop_after < 9; ++stop_after) {
    const auto original = MakeProposer(GetParam());
    Trajectory stored;
    for (int turn = 0; turn < stop_after; ++turn) Turn(*original, stored);

    const auto resumed = MakeProposer(GetParam());
    for (size_t next = 0; next < stored.size();) {
      const std::vector<Proposal> batch = resumed->Propose(4).value();
      for (const Proposal& one : batch) {
        ASSERT_EQ(one.candidate.sources, stored[next].candidate.sources);
        resumed->Observe(stored[next++]);
      }
    }
    Trajectory again = stored;
    EXPECT_EQ(Turn(*resumed, again), Turn(*original, stored));
  }
}

TEST(SpaceProposer, CandidatesSayWhereTheyCameFrom) {
  const auto proposer = MakeProposer("guided");
  (void)proposer->Propose(2);
  const std::vector<Proposal> batch = proposer->Propose(2).value();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0].candidate.provenance.proposer, "guided");
  EXPECT_EQ(batch[0].candidate.provenance.group, "guided/1");
  EXPECT_EQ(batch[0].candidate.provenance.family, "f");
  EXPECT_EQ(batch[0].candidate.provenance.config.size(), 2U);
}

TEST(SpaceProposer, OnlyPassedStepsScore) {
  Step step;
  step.reward = 1.5;
  step.verdict.outcome = Inconclusive{"noise"};
  EXPECT_EQ(ScoreOf(step), kFailedScore);
  step.verdict.outcome = Passed{};
  EXPECT_EQ(ScoreOf(step), 1.5);
}

TEST(SpaceProposer, AnErrorOfTheMakerIsPassedOn) {
  const auto proposer =
      std::move(SpaceProposer::Create(
                    "random", SmallTerrain(),
                    [](const Point&) -> Result<Candidate> {
                      return Error{ErrorCode::kNotRecorded, "no sources stored", ""};
                    },
                    1))
          .value();
  EXPECT_EQ(proposer->Propose(1).error().code, ErrorCode::kNotRecorded);
}

}  // namespace
}  // namespace warpsmith::proposers
