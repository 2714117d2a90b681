#include "agent/knowledge/posterior.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/tests/contents.h"

namespace warpsmith::knowledge {
namespace {

Situation Here() { return {"memory-latency/tail", TestContext(), "task"}; }

// `n` outcomes of that gain, exactly there unless `change` says where.
template <typename Change>
Cell CellOf(int n, double log_gain, Change change) {
  Cell cell{{Here().state, "fusion", TestContext()}, {}};
  for (int i = 0; i < n; ++i) cell.tally = cell.tally + TallyOf(TestOutcome(log_gain));
  change(cell.key);
  return cell;
}
Cell CellOf(int n, double log_gain) {
  return CellOf(n, log_gain, [](CellKey& /*key*/) {});
}

Posterior Of(const std::vector<Cell>& cells, const std::vector<Prior>& priors = {}) {
  return PosteriorOf(Here(), cells, priors);
}

TEST(PosteriorOf, IsConjugate) {
  // kappa0 1, m0 0, alpha0 2, beta0 0.04; two observations 0.1 and 0.3.
  Cell cell = CellOf(1, 0.1);
  cell.tally = cell.tally + TallyOf(TestOutcome(0.3));
  const Posterior posterior = Of({cell});
  EXPECT_NEAR(posterior.kappa, 3, 1e-12);
  EXPECT_NEAR(posterior.mean, 0.4 / 3, 1e-12);
  EXPECT_NEAR(posterior.alpha, 3, 1e-12);
  EXPECT_NEAR(posterior.beta, 0.04 + 0.02 / 2 + 1 * 2 * 0.04 / (2 * 3), 1e-12);
  EXPECT_NEAR(SuccessProbability(posterior), 3.0 / 4, 1e-12);
}

RC_GTEST_PROP(PosteriorOf, MeanLiesBetweenPriorAndData, ()) {
  const double prior_gain = *rc::gen::inRange(-200, 200) / 100.0;
  const double gain = *rc::gen::inRange(-200, 200) / 100.0;
  const int n = *rc::gen::inRange(1, 200);
  const Prior prior{Here().state, "fusion", prior_gain, 0.1, 3, 0.5, ""};
  const double before = Of({}, {prior}).mean;
  const double after = Of({CellOf(n, gain)}, {prior}).mean;
  RC_ASSERT(after >= std::min(before, gain) - 1e-9);
  RC_ASSERT(after <= std::max(before, gain) + 1e-9);
}

TEST(PosteriorOf, FailuresLowerTheChanceNotTheGain) {
  Cell cell = CellOf(4, 0.5);
  const Posterior before = Of({cell});
  cell.tally = cell.tally + TallyOf(TestFailure(Failure::kIncorrect));
  const Posterior after = Of({cell});
  EXPECT_EQ(after.mean, before.mean);
  EXPECT_LT(SuccessProbability(after), SuccessProbability(before));
  EXPECT_LT(ExpectedValue(after), ExpectedValue(before));
}

TEST(PosteriorOf, ForeignEvidenceCountsLessButCounts) {
  const auto other_gpu = [](CellKey& key) { key.context.architecture = "sm_80"; };
  const auto other_dtype = [](CellKey& key) { key.context.dtype = "f32"; };
  const auto other_previous = [](CellKey& key) { key.context.previous = "padding"; };
  const double none = Of({}).mean;
  const double gpu = Of({CellOf(4, 0.5, other_gpu)}).mean;
  const double dtype = Of({CellOf(4, 0.5, other_dtype)}).mean;
  const double previous = Of({CellOf(4, 0.5, other_previous)}).mean;
  const double own = Of({CellOf(4, 0.5)}).mean;
  EXPECT_LT(none, gpu);
  EXPECT_LT(gpu, dtype);
  EXPECT_LT(dtype, previous);
  EXPECT_LT(previous, own);
}

TEST(PosteriorOf, NoAmountOfForeignEvidencePassesItsCap) {
  const auto other_gpu = [](CellKey& key) { key.context.architecture = "sm_80"; };
  const Posterior few = Of({CellOf(4, 0.5, other_gpu)});
  EXPECT_NEAR(few.effective, 1 / (1 + 1.0 / 8), 1e-9);  // 0.25 x 4, capped at 8
  const Posterior many = Of({CellOf(20'000, 0.5, other_gpu)});
  EXPECT_GT(many.effective, 7.9);
  EXPECT_LT(many.effective, 8);
  EXPECT_EQ(many.elsewhere, 20'000);
  EXPECT_EQ(Attempts(many.here), 0);
  // A dozen measurements here outweigh them.
  EXPECT_LT(Of({CellOf(20'000, 0.5, other_gpu), CellOf(12, -0.5)}).mean, 0);
}

TEST(PosteriorOf, TheCoarserStateCountsAndOthersDoNot) {
  const auto coarser = [](CellKey& key) { key.state = "memory-latency"; };
  const auto other = [](CellKey& key) { key.state = "barrier"; };
  EXPECT_GT(Of({CellOf(4, 0.5, coarser)}).mean, 0);
  EXPECT_LT(Of({CellOf(4, 0.5, coarser)}).mean, Of({CellOf(4, 0.5)}).mean);
  EXPECT_EQ(Of({CellOf(4, 0.5, other)}).mean, 0);
}

TEST(PosteriorOf, APriorIsNoEvidence) {
  const Prior own{Here().state, "fusion", 0.5, 0.1, 2, 1, ""};
  const Prior coarser{"memory-latency", "fusion", -0.5, 0.1, 2, 1, ""};
  const Posterior posterior = Of({}, {coarser, own});
  EXPECT_GT(posterior.mean, 0);  // its own, where it has one
  EXPECT_EQ(posterior.effective, 0);
  EXPECT_EQ(Attempts(posterior.here), 0);
  EXPECT_EQ(posterior.prior_weight, 2);
  EXPECT_EQ(Of({}, {coarser}).prior_weight, 1);
}

TEST(DrawGamma, HasItsMeanAndVariance) {
  Random random(1, "gamma");
  constexpr int kDraws = 20'000;
  for (const double shape : {1.0, 2.5, 40.0}) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = DrawGamma(shape, random);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean / shape, 1, 0.03) << shape;
    EXPECT_NEAR((squares / kDraws - mean * mean) / shape, 1, 0.08) << shape;
  }
}

std::vector<Belief> ThreeBeliefs() {
  return {{"padding", Of({CellOf(20, 0.05)})},
          {"fusion", Of({CellOf(20, 0.5)})},
          {"split-k", Of({CellOf(20, -0.3)})}};
}

TEST(Draw, PrefersWhatIsBelievedBest) {
  Random random(7, "draw");
  int fusion_first = 0;
  for (int i = 0; i < 200; ++i) {
    fusion_first += static_cast<int>(Draw(ThreeBeliefs(), {}, 1, random)[0].technique == "fusion");
  }
  EXPECT_GT(fusion_first, 190);
}

TEST(Draw, TriesWhatIsUnknown) {
  const std::vector<Belief> beliefs = {{"known", Of({CellOf(50, 0.05)})}, {"new", Of({})}};
  Random random(7, "draw");
  int new_first = 0;
  for (int i = 0; i < 200; ++i) {
    new_first += static_cast<int>(Draw(beliefs, {}, 1, random)[0].technique == "new");
  }
  EXPECT_GT(new_first, 20);
  EXPECT_LT(new_first, 180);
}

TEST(Draw, IsTheSameForASeedInAnyOrder) {
  std::vector<Belief> beliefs = ThreeBeliefs();
  Random first(3, "draw"), second(3, "draw");
  const std::vector<Choice> a = Draw(beliefs, {}, 3, first);
  std::reverse(beliefs.begin(), beliefs.end());
  const std::vector<Choice> b = Draw(beliefs, {}, 3, second);
  ASSERT_EQ(a.size(), 3U);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].technique, b[i].technique);
    EXPECT_EQ(a[i].sampled_value, b[i].sampled_value);
  }
}

RC_GTEST_PROP(Draw, NeverRepeatsNorDrawsWhatIsBlocked, (uint64_t seed, bool one, bool two)) {
  Blocked blocked;
  if (one) blocked["fusion"] = "hang";
  if (two) blocked["padding"] = "crash";
  const size_t k = *rc::gen::inRange<size_t>(0, 5);
  std::vector<Belief> beliefs = ThreeBeliefs();
  beliefs.push_back(beliefs.front());
  Random random(seed, "draw");
  const std::vector<Choice> choices = Draw(beliefs, blocked, k, random);
  RC_ASSERT(choices.size() == std::min(k, size_t{3} - blocked.size()));
  for (size_t i = 0; i < choices.size(); ++i) {
    RC_ASSERT(!blocked.contains(choices[i].technique));
    if (i == 0) continue;
    RC_ASSERT(choices[i].technique != choices[i - 1].technique);
    RC_ASSERT(choices[i].sampled_value <= choices[i - 1].sampled_value);
  }
}

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
