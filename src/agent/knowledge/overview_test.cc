#include "agent/knowledge/overview.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/tests/contents.h"

namespace warpsmith::knowledge {
namespace {

using testing::ElementsAre;

Contents Base(std::vector<Outcome> outcomes) {
  Contents contents;
  for (const std::string& name : kTestStates) {
    contents.states.push_back({name, Origin::kKnown, "a state"});
  }
  for (const std::string& name : kTestTechniques) contents.techniques.push_back({name, "it", "a"});
  contents.priors.push_back({"barrier", "fusion", 0.2, 0.1, 2, 1, "a guess"});
  contents.outcomes = std::move(outcomes);
  return InOrder(std::move(contents)).value();
}

Outcome Foreign(int64_t step) {
  Outcome outcome = TestOutcome(0.5, step);
  outcome.context.architecture = "sm_80";
  return outcome;
}

const StateView& Find(const Overview& overview, const std::string& name) {
  const auto found = std::find_if(overview.states.begin(), overview.states.end(),
                                  [&](const StateView& view) { return view.state.name == name; });
  CHECK(found != overview.states.end());
  return *found;
}

TEST(OverviewOf, WithoutAViewpointNothingIsDiscounted) {
  const Overview overview = OverviewOf(Base({TestOutcome(0.1, 1), Foreign(2)}), {});
  const Expected& fusion = Find(overview, "memory-latency").expected.at(0);
  EXPECT_EQ(fusion.technique, "fusion");
  EXPECT_EQ(fusion.posterior.effective, 2);
  EXPECT_EQ(fusion.posterior.elsewhere, 0);
  EXPECT_EQ(overview.total.measured, 2);
  EXPECT_EQ(overview.tasks, 1);
}

TEST(OverviewOf, ShowsWhatForeignEvidenceCounts) {
  Viewpoint here;
  here.architecture = "sm_90a";
  const Overview overview = OverviewOf(Base({TestOutcome(0.1, 1), Foreign(2), Foreign(3)}), here);
  const Expected& fusion = Find(overview, "memory-latency").expected.at(0);
  ASSERT_EQ(fusion.evidence.size(), 2U);
  EXPECT_THAT(fusion.evidence[0].differs, ElementsAre());
  EXPECT_EQ(fusion.evidence[0].counts_each, 1);
  EXPECT_THAT(fusion.evidence[1].differs, ElementsAre("architecture"));
  EXPECT_EQ(fusion.evidence[1].tally.measured, 2);
  EXPECT_NEAR(fusion.evidence[1].counts_each, 0.25 / (1 + 0.25 * 2 / 8), 1e-12);
  EXPECT_NEAR(fusion.posterior.effective, 1 + 2 * fusion.evidence[1].counts_each, 1e-12);
}

TEST(OverviewOf, AFinerStateSeesItsCoarserOnesEvidenceButDoesNotCountItAsItsOwn) {
  const Overview overview = OverviewOf(Base({TestOutcome(0.1, 1)}), {});
  const StateView& tail = Find(overview, "memory-latency/tail");
  EXPECT_EQ(Attempts(tail.tally), 0);
  EXPECT_THAT(tail.expected.at(0).evidence.at(0).differs, ElementsAre("state"));
  EXPECT_EQ(Attempts(Find(overview, "memory-latency").tally), 1);
}

TEST(OverviewOf, TellsTransitionsFromTheSameTechniqueElsewhere) {
  Outcome after = TestOutcome(0.4, 1), other = TestOutcome(-0.1, 2), poor = TestOutcome(0.1, 3);
  after.context.previous = "padding";
  poor.context.previous = "unrolling";
  const Overview overview = OverviewOf(Base({after, other, poor}), {});
  ASSERT_EQ(overview.transitions.size(), 2U);
  EXPECT_EQ(overview.transitions[0].previous, "padding");
  EXPECT_NEAR(MeanLogGain(overview.transitions[0].after), 0.4, 1e-9);
  EXPECT_NEAR(MeanLogGain(overview.transitions[0].otherwise), 0, 1e-9);
  EXPECT_EQ(overview.transitions[0].otherwise.measured, 2);
}

TEST(OverviewOf, GivesFailuresTheirReasons) {
  const Outcome failure = TestFailure(Failure::kHang, 7);
  Contents contents = Base({failure});
  contents.notes = {
      {"memory-latency", "fusion", "waits for a block that never runs", "person", failure.evidence},
      {"barrier", "fusion", "of another state", "person", failure.evidence}};
  EXPECT_THAT(ReasonsOf(OverviewOf(contents, {}), failure),
              ElementsAre("waits for a block that never runs"));
}

TEST(OverviewOf, TheSeedGivesEveryStateSomethingToTryAndNoEvidence) {
  const Overview overview = OverviewOf(Seed(), {});
  EXPECT_EQ(Attempts(overview.total), 0);
  for (const StateView& view : overview.states) {
    EXPECT_FALSE(view.expected.empty()) << view.state.name;
    for (const Expected& expected : view.expected) EXPECT_EQ(expected.posterior.effective, 0);
  }
}

TEST(CredibleMean, NarrowsWithEvidenceAndHoldsTheMean) {
  Posterior little, much;
  much.kappa = 401;
  much.alpha = 202;
  much.beta = 202 * 0.02;
  const Interval wide = CredibleMean(little, 0.9), narrow = CredibleMean(much, 0.9);
  // Student's t, 4 degrees of freedom: 2.1318 times sqrt(0.04 / 2).
  EXPECT_NEAR(wide.hi, 2.1318 * std::sqrt(0.02), 1e-4);
  EXPECT_NEAR(wide.lo, -wide.hi, 1e-12);
  EXPECT_LT(narrow.hi - narrow.lo, 0.1 * (wide.hi - wide.lo));
}

}  // namespace
}  // namespace warpsmith::knowledge
