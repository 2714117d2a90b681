#include "report/summary.h"

#include <gmock/gmock.h>

#include "report/sample_report.h"

namespace warpsmith::report {
namespace {

ModeTiming TimingWith(double ratio) {
  ModeTiming timing;
  timing.floor_us = 0.5;
  timing.candidate = {
      .name = "candidate", .median_us = 2 / ratio, .interval_us = {}, .samples = {}};
  timing.baselines = {
      {.name = "cublaslt-auto", .median_us = 2, .interval_us = {}, .samples = {}},
      {.name = "cublaslt-auto/again", .median_us = 2, .interval_us = {}, .samples = {}}};
  timing.comparisons = {{.baseline = "cublaslt-auto",
                         .ratio = ratio,
                         .interval = {ratio - 0.01, ratio + 0.01},
                         .finding = Finding::kFaster}};
  return timing;
}

Step PassedStep(double ratio, Level level, int64_t tile) {
  Passed passed;
  passed.level = level;
  passed.timings = {{.workload = "gemm", .modes = {TimingWith(ratio)}}};
  Step step;
  step.verdict.outcome = passed;
  step.cost.gpu_seconds = 0.25;
  step.candidate.provenance.family = "wgmma";
  step.candidate.provenance.config = {{"bm", tile}};
  return step;
}

Step FailedStep(std::string detail) {
  Step step;
  step.verdict.outcome = Incorrect{.detector = "bound", .detail = std::move(detail)};
  return step;
}

ShapeReport Summary(const Trajectory& steps) {
  Task task;
  task.name = "hgemm";
  Workload workload;
  workload.name = "gemm";
  workload.sizes = {{"M", 64}, {"N", 128}, {"K", 256}};
  return SummariseShape(task, workload, steps, Mode::kDeviceHot);
}

TEST(SummariseShape, ProgressCountsFailuresAsEvaluationsAndOnlyRises) {
  const ShapeReport shape = Summary({FailedStep("a"), PassedStep(0.8, Level::kScreened, 64),
                                     PassedStep(0.7, Level::kScreened, 32), FailedStep("b"),
                                     PassedStep(1.2, Level::kScreened, 128)});
  ASSERT_EQ(shape.progress.size(), 2U);
  EXPECT_EQ(shape.progress[0].evaluations, 2);
  EXPECT_EQ(shape.progress[1].evaluations, 5);
  EXPECT_DOUBLE_EQ(shape.progress[1].best_ratio, 1.2);
  EXPECT_EQ(shape.evaluations, 5);
  EXPECT_EQ(shape.passed, 3);
  EXPECT_DOUBLE_EQ(shape.gpu_seconds, 0.75);
  EXPECT_EQ(ShapeLabel(shape), "64x128x256");
}

TEST(SummariseShape, ACertifiedResultBeatsABetterScreenedOne) {
  const ShapeReport shape =
      Summary({PassedStep(1.3, Level::kScreened, 64), PassedStep(1.1, Level::kCertified, 128),
               PassedStep(1.05, Level::kCertified, 256)});
  ASSERT_EQ(shape.winners.size(), 1U);
  EXPECT_EQ(shape.winners[0].config, "wgmma bm=128");
  EXPECT_EQ(shape.winners[0].level, Level::kCertified);
  EXPECT_DOUBLE_EQ(shape.winners[0].bar_us, 2);
  EXPECT_EQ(shape.winners[0].bar, "cublaslt-auto");
  ASSERT_EQ(shape.baselines.size(), 1U);  // the A/A contender is no baseline
}

TEST(SummariseShape, FailuresAreCountedByKindWithTheFirstAsExample) {
  const ShapeReport shape = Summary({FailedStep("first one"), FailedStep("second one")});
  ASSERT_EQ(shape.failures.size(), 1U);
  EXPECT_EQ(shape.failures[0].kind, "incorrect");
  EXPECT_EQ(shape.failures[0].count, 2);
  EXPECT_THAT(shape.failures[0].example, testing::HasSubstr("first one"));
  EXPECT_TRUE(shape.winners.empty());
}

TEST(TallyOf, CountsFindingsAndAveragesRatios) {
  const RunReport report = SampleReport();
  const Tally tally = TallyOf(report, Mode::kDeviceHot);
  EXPECT_EQ(tally.faster, 8);
  EXPECT_EQ(tally.same, 1);
  EXPECT_EQ(tally.slower, 3);
  EXPECT_NEAR(tally.geomean_ratio, 1.126, 0.001);
  EXPECT_EQ(TallyOf(report, Mode::kOffline).nothing_passed, 12);
  EXPECT_THAT(ModesOf(report), testing::ElementsAre(Mode::kDeviceHot, Mode::kServer));
}

}  // namespace
}  // namespace warpsmith::report
