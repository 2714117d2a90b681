#include "report/suite.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace warpsmith::report {
namespace {

SuiteRow Compared(const std::string& task, double ratio, double roofline_us = 5) {
  ModeTiming timing;
  timing.mode = Mode::kWall;
  timing.roofline_us = roofline_us;
  timing.candidate.median_us = 10;
  timing.below_roofline = roofline_us > 10;
  timing.baselines = {{"torch-eager", 99, {}, {}}, {"torch-best", 10 * ratio, {}, {}}};
  timing.comparisons.push_back({"torch-best",
                                ratio,
                                {ratio * 0.99, ratio * 1.01},
                                ratio > 1 ? Finding::kFaster : Finding::kSlower});
  Passed passed;
  passed.timings = {{"w", {timing}}};
  return {task, "w", "init", {passed, {}}};
}

SuiteRow Failed(const std::string& task, Outcome outcome) {
  return {task, "w", "init", {std::move(outcome), {}}};
}

std::vector<SuiteRow> SampleRows() {
  return {Compared("a", 2), Compared("b", 0.5), Compared("c", 1.1),
          Failed("d", Incorrect{"bound", "off", 1, 0.1, 3}),
          Failed("e", RunFailed{"check", "RUNNER_DIED", "signal 11"})};
}

TEST(SummariseSuite, CountsAndComparesWhatPassed) {
  const SuiteSummary summary = SummariseSuite(SampleRows(), 0.95);
  EXPECT_EQ(summary.total, 5);
  EXPECT_EQ(summary.valid, 3);
  EXPECT_NEAR(summary.geomean, std::cbrt(1.1), 1e-12);
  EXPECT_EQ(summary.median, 1.1);
  EXPECT_LT(summary.interval.lo, summary.geomean);
  EXPECT_GT(summary.interval.hi, summary.geomean);
  EXPECT_EQ(summary.failures.at("incorrect: bound"), 1);
  EXPECT_EQ(summary.failures.at("run-failed: RUNNER_DIED"), 1);
  EXPECT_EQ(*summary.median_of_roofline, 0.5);
}

TEST(SummariseSuite, FastPIsAShareOfAllAndStrict) {
  const SuiteSummary summary = SummariseSuite(SampleRows(), 0.95);
  for (const auto& [p, share] : summary.fast_p) {
    if (p == 0) {
      EXPECT_DOUBLE_EQ(share, 0.6);
    } else if (p == 1) {
      EXPECT_DOUBLE_EQ(share, 0.4);
    } else if (p == 2) {
      EXPECT_EQ(share, 0) << "twice as fast is not more than twice";
    }
  }
}

TEST(SummariseSuite, ASuspiciousTimeIsInNoRatio) {
  std::vector<SuiteRow> rows = SampleRows();
  rows.push_back(Compared("f", 1000, 20));
  const SuiteSummary summary = SummariseSuite(rows, 0.95);
  EXPECT_EQ(summary.suspicious, 1);
  EXPECT_EQ(summary.compared, 3);
  EXPECT_EQ(summary.most, 2);
}

TEST(SummariseSuite, TasksUnfitForHeadlinesStayOut) {
  std::vector<SuiteRow> rows = SampleRows();
  rows.push_back(Compared("g", 50));
  rows.back().headline = false;
  EXPECT_EQ(SummariseSuite(rows, 0.95).kept_out, 1);
  EXPECT_EQ(SummariseSuite(rows, 0.95).most, 2);
}

TEST(SummariseSuite, OneRatioHasNoInterval) {
  const SuiteSummary summary = SummariseSuite({Compared("a", 2)}, 0.95);
  EXPECT_EQ(summary.geomean, 2);
  EXPECT_EQ(summary.interval.lo, 0);
  EXPECT_TRUE(std::isinf(summary.interval.hi));
  EXPECT_EQ(SummariseSuite({}, 0.95).total, 0);
}

TEST(RenderSuite, SaysHowEachFailed) {
  const std::string text = RenderSuite(SampleRows(), SummariseSuite(SampleRows(), 0.95));
  EXPECT_THAT(text, testing::HasSubstr("3 of 5 valid (60.0 %)"));
  EXPECT_THAT(text, testing::HasSubstr("incorrect: bound"));
  EXPECT_THAT(text, testing::HasSubstr("geomean 1.032"));
}

TEST(SuiteCsv, HasTheSameColumnsInEveryRow) {
  std::vector<SuiteRow> rows = SampleRows();
  rows[3].task = "d, with \"quotes\"\nand a line";
  const std::string csv = SuiteCsv(rows);
  EXPECT_THAT(csv, testing::HasSubstr("torch-best,20.0000,")) << "its time, not the first one's";
  EXPECT_THAT(csv, testing::HasSubstr("\"d, with \"\"quotes\"\""));
  const auto line = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(std::count(line.begin(), line.begin() + static_cast<long>(line.find('\n')), ','), 20);
}

TEST(SuiteJson, IsOneDocument) {
  const auto json =
      nlohmann::json::parse(SuiteJson(SampleRows(), SummariseSuite(SampleRows(), 0.95)));
  EXPECT_EQ(json.at("schema"), "warpsmith.suite");
  EXPECT_EQ(json.at("verdicts").size(), 5U);
  EXPECT_EQ(json.at("failures").at("incorrect: bound"), 1);
}

}  // namespace
}  // namespace warpsmith::report
