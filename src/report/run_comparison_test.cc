#include "report/run_comparison.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/tests/sample_report.h"

namespace warpsmith::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kFailed = -1;

Verdict VerdictOf(double ratio, Level level = Level::kScreened) {
  if (ratio == kFailed) return {Incorrect{"bound", "wrong", 1, 0, 0}, {}};
  ModeTiming mode;
  mode.candidate.median_us = 100 / ratio;
  mode.comparisons = {{"bar", ratio, {ratio * 0.99, ratio * 1.01}, Finding::kFaster}};
  Passed passed;
  passed.level = level;
  passed.timings = {{"w", {mode}}};
  return {passed, {}};
}

Candidate CandidateOf(int64_t index) {
  Candidate candidate;
  candidate.sources["k.cu"] = std::to_string(index);
  candidate.entry = "k.cu";
  return candidate;
}

// Each step changes the one before, by technique "t0", "t1", "t0", ...
StoredRun RunOf(const std::string& task, const std::vector<double>& ratios) {
  StoredRun run;
  run.record.task.name = task;
  run.record.task.reference.kind = task;  // part of its identity
  run.record.workload = {"w", {{"n", 4}}};
  run.record.proposer = "agent";
  for (const double ratio : ratios) {
    Step step;
    step.index = static_cast<int64_t>(run.steps.size());
    step.candidate = CandidateOf(step.index);
    if (step.index > 0) {
      step.candidate.provenance.technique = "t" + std::to_string(step.index % 2);
      step.candidate.provenance.parent = CandidateId(CandidateOf(step.index - 1));
    }
    step.verdict = VerdictOf(ratio);
    step.cost = {1, 0.5, 2, 1000, 0.25};
    run.steps.push_back(step);
  }
  return run;
}

RunComparison Sample() {
  SideRuns fresh{"fresh",
                 {RunOf("a", {0.5, 1, 1}), RunOf("b", {kFailed, 1, 2}), RunOf("c", {kFailed})}};
  SideRuns warm{"warm", {RunOf("a", {1, 2, 1.5}), RunOf("b", {1, 3}), RunOf("d", {1})}};
  fresh.runs[0].notes[1] = {"barrier", "tiling", "", 0.7};
  fresh.runs[0].notes[2] = {"tail", "split-k", "tiling", std::nullopt};
  Step certified = warm.runs[0].steps[1];
  certified.verdict = VerdictOf(1.9, Level::kCertified);
  warm.runs[0].certified = {certified};
  return CompareRuns({fresh, warm});
}

TEST(CompareRunsTest, CountsWhatEachSideReachedAndSpent) {
  const RunComparison comparison = Sample();
  const Side& fresh = comparison.sides.at(0);
  EXPECT_EQ(fresh.valid, 2);
  EXPECT_EQ(fresh.tasks.size(), 3U);
  EXPECT_NEAR(fresh.reached.geomean, std::sqrt(1 * 2), 1e-12);
  EXPECT_EQ(fresh.cost.tokens, 7000);
  EXPECT_NEAR(fresh.cost.money, 7 * 0.25, 1e-12);
  // a from 0.5 to 1, b from 1 to 2: two doublings for 7,000 tokens.
  EXPECT_NEAR(fresh.tokens_a_doubling.value(), 3500, 1e-9);
  EXPECT_NEAR(fresh.states_a_task.value(), 2, 1e-12);
  const Side& warm = comparison.sides.at(1);
  EXPECT_NEAR(warm.reached.geomean, std::cbrt(1.9 * 3 * 1), 1e-12);  // certified where it was
}

TEST(CompareRunsTest, PairsByTaskAndSizes) {
  const PairedRatio pair = Sample().pairs.at(0);
  EXPECT_EQ(pair.side, "warm");
  EXPECT_EQ(pair.ratio.tasks, 2);
  EXPECT_EQ(pair.certified, 0);  // only one of the two was
  EXPECT_NEAR(pair.ratio.geomean, std::sqrt(2.0 / 1 * 3.0 / 2), 1e-12);
  // Student's t, one degree of freedom: 12.706 sd / sqrt(2).
  const double spread = std::log(2.0) - std::log(1.5);
  EXPECT_NEAR(std::log(pair.ratio.interval.hi / pair.ratio.geomean), 12.7062 * spread / 2, 1e-3);
  EXPECT_EQ(pair.finding, Finding::kNotShown);
}

TEST(CompareRunsTest, AnIntervalThatExcludesOneIsAFinding) {
  SideRuns slow{"slow", {}}, fast{"fast", {}};
  for (int i = 0; i < 8; ++i) {
    slow.runs.push_back(RunOf("task" + std::to_string(i), {1 + 0.01 * i}));
    fast.runs.push_back(RunOf("task" + std::to_string(i), {1.3 + 0.012 * i}));
  }
  EXPECT_EQ(CompareRuns({slow, fast}).pairs.at(0).finding, Finding::kFaster);
  EXPECT_EQ(CompareRuns({fast, slow}).pairs.at(0).finding, Finding::kSlower);
  EXPECT_EQ(CompareRuns({fast, fast}).pairs.at(0).finding, Finding::kSame);
}

TEST(CompareRunsTest, TheCurveBeginsWhereAllCommonTasksHavePassed) {
  const RunComparison comparison = Sample();
  const std::vector<ProgressPoint>& fresh = comparison.sides.at(0).curve;  // a and b
  ASSERT_EQ(fresh.size(), 2U);
  EXPECT_EQ(fresh[0].evaluations, 2);
  EXPECT_NEAR(fresh[0].best_ratio, 1, 1e-12);
  EXPECT_EQ(fresh[1].evaluations, 3);
  EXPECT_NEAR(fresh[1].best_ratio, std::sqrt(2), 1e-12);
  const std::vector<ProgressPoint>& warm = comparison.sides.at(1).curve;
  EXPECT_EQ(warm.front().evaluations, 1);
  EXPECT_NEAR(warm.back().best_ratio, std::sqrt(2 * 3), 1e-12);
}

TEST(CompareRunsTest, TechniquesSucceedWhereTheyWereFasterThanWhatTheyChanged) {
  const Side warm = Sample().sides.at(1);
  ASSERT_EQ(warm.techniques.size(), 2U);
  const TechniqueUse& first = warm.techniques.at(0);  // t1, twice: 1 to 2, and 1 to 3
  EXPECT_EQ(first.technique, "t1");
  EXPECT_EQ(first.gained, 2);
  EXPECT_NEAR(std::exp(first.mean_log_gain), std::sqrt(6), 1e-12);
  EXPECT_EQ(warm.techniques.at(1).gained, 0);  // 2 to 1.5
  const Side fresh = Sample().sides.at(0);
  const auto met = std::find_if(fresh.tasks.begin(), fresh.tasks.end(),
                                [](const auto& task) { return !task.states.empty(); });
  ASSERT_NE(met, fresh.tasks.end());
  EXPECT_THAT(met->states, ElementsAre("barrier", "tail"));
  const auto noted = std::find_if(fresh.transitions.begin(), fresh.transitions.end(),
                                  [](const auto& one) { return one.technique == "split-k"; });
  ASSERT_NE(noted, fresh.transitions.end());
  EXPECT_EQ(noted->previous, "tiling");
}

TEST(CompareRunsTest, OneSideAloneIsCompared) {
  const RunComparison comparison = CompareRuns({{"only", {RunOf("a", {kFailed, kFailed})}}});
  EXPECT_TRUE(comparison.pairs.empty());
  EXPECT_EQ(comparison.sides.at(0).valid, 0);
  EXPECT_TRUE(comparison.sides.at(0).curve.empty());
  EXPECT_THAT(RenderComparison(comparison, Colour::kNone), HasSubstr("0 of 1"));
}

TEST(ComparisonReportTest, TellsTheSameInEveryForm) {
  const RunComparison comparison = Sample();
  const std::string text = RenderComparison(comparison, Colour::kNone);
  EXPECT_THAT(text, HasSubstr("warm against fresh: 1.732 x"));
  EXPECT_THAT(text, HasSubstr("transitions that pay"));
  EXPECT_THAT(ToCsv(comparison), HasSubstr("warm,\"a, w\",3,3,1.0000,2.0000"));
  const nlohmann::json json = ToJson(comparison);
  EXPECT_EQ(json["schema"], "warpsmith.run-comparison");
  EXPECT_NEAR(json["pairs"][0]["ratio"]["geomean"].get<double>(), std::sqrt(3), 1e-12);
  EXPECT_EQ(json["sides"][0]["tasks"].size(), 3U);
}

TEST(ComparisonReportTest, ThePageKeepsHostileTextText) {
  RunComparison comparison = Sample();
  comparison.title = kHostileText;
  comparison.sides[0].techniques.front().technique = kHostileText;
  const std::string html = ToHtml(comparison);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("{{script}}")));
}

}  // namespace
}  // namespace warpsmith::report
