#include "search/proposers/strategy.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "search/proposers/guided_search.h"

namespace warpsmith::proposers {
namespace {

// A full grid over three parameters in two families.
std::shared_ptr<const Terrain> Grid(int a, int b, int c, const CostModel& model = {}) {
  std::vector<Point> points;
  for (const char* family : {"f", "g"}) {
    for (int i = 0; i < a; ++i) {
      for (int j = 0; j < b; ++j) {
        for (int k = 0; k < c; ++k) {
          points.push_back({family, {{"a", 1 << i}, {"b", j}, {"c", 10 * k}}});
        }
      }
    }
  }
  return std::make_shared<Terrain>(Space("grid", std::move(points)), model, [](const Point& point) {
    return point.family + std::to_string(point.config.at("a"));
  });
}

// One fixed rough score a point; every seventh fails.
double RoughScore(int index) {
  if (index % 7 == 3) return kFailedScore;
  return 0.5 + Random(17, std::to_string(index)).Uniform();
}

// Drives a strategy to the end in batches whose sizes and answer delays come from `seed`, and
// returns what it proposed, in order.
std::vector<int> Exhaust(Strategy strategy, uint64_t seed) {
  Random random(seed, "driver");
  std::vector<int> proposed;
  size_t told = 0;
  for (;;) {
    const std::vector<int> batch = strategy.next(1 + static_cast<int>(random.Below(9)));
    proposed.insert(proposed.end(), batch.begin(), batch.end());
    const size_t held_back = batch.empty() ? 0 : random.Below(5);
    while (told + held_back < proposed.size()) {
      strategy.tell(proposed[told], RoughScore(proposed[told]));
      ++told;
    }
    if (batch.empty()) return proposed;
  }
}

class EveryStrategy : public testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, testing::ValuesIn(StrategyNames()),
                         [](const auto& info) { return std::string(info.param); });

// 16 arms, of which the model likes "f1" best, by a little: twelve evaluations are not spent on one
// point of each.
TEST(Brief, SpendsItsFewEvaluationsOnWhatTheModelLikesBest) {
  const auto terrain = Grid(8, 3, 3, [](const Point& point) {
    return (point.family == "f" ? 1.0 : 1.1) + 0.01 * static_cast<double>(point.config.at("a"));
  });
  ASSERT_EQ(terrain->arms(), 16);
  std::vector<double> predicted;
  for (int i = 0; i < terrain->size(); ++i) predicted.push_back(terrain->LogPredicted(i));
  std::nth_element(predicted.begin(), predicted.begin() + 11, predicted.end());
  Strategy brief = MakeStrategy(kBrief, terrain, 1).value();
  for (int batch = 0; batch < 3; ++batch) {
    for (const int index : brief.next(4)) {
      EXPECT_LE(terrain->LogPredicted(index), predicted[11]);
      brief.tell(index, 1 / std::exp(terrain->LogPredicted(index)));
    }
  }
  EXPECT_EQ(brief.name, kGuided);
}

// A ranking may be wrong about every point of an arm.
TEST(GuidedSearch, LooksAtFurtherArmsWhenTheModelHasLed) {
  const auto terrain = Grid(8, 3, 3, [](const Point& point) {
    return 1.0 + 0.01 * static_cast<double>(point.config.at("a"));
  });
  Strategy search = MakeGuided(terrain, 1, {.lead = 2, .starting_arms = 4, .exploration = 0});
  std::set<int> arms;
  for (const int index : search.next(6)) arms.insert(terrain->Arm(index));
  EXPECT_GE(arms.size(), 4u);
}

// What is known to be good, and what the model likes best, in turn.
TEST(GuidedSearch, TakesGivenPointsInTurnWithTheModels) {
  const auto terrain = Grid(4, 3, 2, [](const Point& point) {
    return point.config.at("b") == 2 ? 1.0 : 2.0 + static_cast<double>(point.config.at("b"));
  });
  Strategy search = MakeGuided(terrain, 1, {.exploration = 0, .first = {0, 3}});
  ASSERT_NE(terrain->space().points()[0].config.at("b"), 2);
  const std::vector<int> batch = search.next(4);
  EXPECT_EQ(terrain->space().points()[batch[0]].config.at("b"), 2);
  EXPECT_EQ(batch[1], 0);
  EXPECT_EQ(terrain->space().points()[batch[2]].config.at("b"), 2);
  EXPECT_EQ(batch[3], 3);
}

TEST(Guided, BeginsWithWhatItIsGiven) {
  const auto terrain = Grid(4, 3, 2);
  Strategy strategy = MakeStrategy("guided", terrain, 1, {7, 3, 7, 11}).value();
  EXPECT_THAT(strategy.next(2), testing::ElementsAre(7, 3));
  std::vector<int> rest = strategy.next(terrain->size());
  ASSERT_EQ(rest.size(), static_cast<size_t>(terrain->size()) - 2);
  EXPECT_EQ(rest.front(), 11);
  EXPECT_EQ(std::set<int>(rest.begin(), rest.end()).count(7), 0u);
  EXPECT_EQ(MakeStrategy("random", terrain, 1, {3}).error().code, ErrorCode::kUsage);
}

TEST_P(EveryStrategy, ProposesEveryPointOnce) {
  const bool held = rc::check("every point once, however answers are interleaved", [] {
    const int a = *rc::gen::inRange(1, 5), b = *rc::gen::inRange(1, 5), c = *rc::gen::inRange(1, 4);
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    const auto terrain = Grid(a, b, c);
    std::vector<int> proposed = Exhaust(MakeStrategy(GetParam(), terrain, seed).value(), seed);
    RC_ASSERT(static_cast<int>(proposed.size()) == terrain->size());
    RC_ASSERT(std::set<int>(proposed.begin(), proposed.end()).size() == proposed.size());
  });
  EXPECT_TRUE(held);
}

TEST_P(EveryStrategy, SameSeedAndAnswersGiveTheSameProposals) {
  const auto terrain = Grid(4, 4, 4);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(Exhaust(MakeStrategy(GetParam(), terrain, seed).value(), seed),
              Exhaust(MakeStrategy(GetParam(), terrain, seed).value(), seed));
  }
}

TEST_P(EveryStrategy, SeedsDiffer) {
  const auto terrain = Grid(4, 4, 4);
  EXPECT_NE(Exhaust(MakeStrategy(GetParam(), terrain, 1).value(), 5),
            Exhaust(MakeStrategy(GetParam(), terrain, 2).value(), 5));
}

TEST_P(EveryStrategy, SurvivesASpaceWhereEverythingFails) {
  const auto terrain = Grid(3, 3, 3);
  Strategy strategy = MakeStrategy(GetParam(), terrain, 1).value();
  int proposed = 0;
  for (std::vector<int> batch = strategy.next(4); !batch.empty(); batch = strategy.next(4)) {
    for (const int index : batch) strategy.tell(index, kFailedScore);
    proposed += static_cast<int>(batch.size());
  }
  EXPECT_EQ(proposed, terrain->size());
}

TEST_P(EveryStrategy, HasNothingToSayAboutAnEmptySpace) {
  Strategy strategy =
      MakeStrategy(GetParam(), std::make_shared<Terrain>(Space("empty", {})), 1).value();
  EXPECT_THAT(strategy.next(8), testing::IsEmpty());
}

TEST(Strategy, UnknownNameSaysTheKnownOnes) {
  const Result<Strategy> made = MakeStrategy("annealing", Grid(1, 1, 1), 0);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kUsage);
  EXPECT_THAT(made.error().Line(), testing::HasSubstr("random, local, guided"));
}

TEST(LocalSearch, ClimbsToTheTopOfASmoothHill) {
  const auto terrain = Grid(6, 6, 6);
  const auto height = [&](int index) {
    const Config& config = terrain->space().points()[index].config;
    const double a = std::log2(config.at("a")), b = config.at("b"), c = config.at("c") / 10.0;
    return 100.0 - (a - 4) * (a - 4) - (b - 2) * (b - 2) - (c - 3) * (c - 3);
  };
  Strategy strategy = MakeStrategy("local", terrain, 3).value();
  double best = 0;
  for (int spent = 0; spent < 80; spent += 4) {
    for (const int index : strategy.next(4)) {
      best = std::max(best, height(index));
      strategy.tell(index, height(index));
    }
  }
  EXPECT_EQ(best, 100.0);
}

TEST(GuidedSearch, StartsWhereTheModelPointsTo) {
  const auto terrain = Grid(4, 4, 4, [](const Point& point) {
    return 10.0 + static_cast<double>(point.config.at("b")) + (point.family == "g" ? 50 : 0);
  });
  Strategy search = MakeGuided(terrain, 1, {.starting_arms = 4, .exploration = 0});
  for (const int index : search.next(4)) {
    EXPECT_EQ(terrain->space().points()[index].family, "f");
    EXPECT_EQ(terrain->space().points()[index].config.at("b"), 0);
  }
}

TEST(Correction, LearnsThatAParameterValueIsWorseThanPredicted) {
  const auto terrain = Grid(2, 6, 2);
  SearchLog log(terrain->size(), 0, "test");
  for (int index = 0; index < terrain->size(); index += 2) {
    log.Propose(index);
    log.Tell(index, terrain->space().points()[index].config.at("b") == 3 ? 0.2 : 1.0);
  }
  Correction correction(terrain);
  correction.Fit(log);
  const Space& space = terrain->space();
  const auto predict = [&](int64_t b) {
    return correction.Predict(space.Find({"f", {{"a", 2}, {"b", b}, {"c", 10}}}));
  };
  EXPECT_LT(predict(3), predict(2) - 0.5);
  EXPECT_NEAR(predict(1), predict(2), 0.1);
}

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
  return std::move(MakeSpaceProposer(strategy, SmallTerrain(), Make, 9)).value();
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
      std::move(MakeSpaceProposer(
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
