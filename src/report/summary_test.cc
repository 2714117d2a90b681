#include "report/summary.h"

#include <gmock/gmock.h>

#include "report/tests/sample_report.h"

namespace warpsmith::report {
namespace {

ModeTiming TimingWith(double ratio) {
  ModeTiming timing;
  timing.roofline_us = 0.5;
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

// Programs are timed on the wall clock alone, and kernels are compared with PyTorch there.
TEST(SummariseShape, DecidesInTheModeThatTheBarWasTimedIn) {
  Step program = PassedStep(1.5, Level::kScreened, 64), kernel = program;
  std::vector<ModeTiming>& wall = std::get<Passed>(program.verdict.outcome).timings[0].modes;
  wall[0].mode = Mode::kWall;
  std::vector<ModeTiming>& both = std::get<Passed>(kernel.verdict.outcome).timings[0].modes;
  both = wall;
  both.push_back(ModeTiming());
  both.back().mode = Mode::kDeviceHot;
  for (const Step& step : {program, kernel}) {
    const ShapeReport shape = Summary({FailedStep("a"), step});
    EXPECT_EQ(shape.headline, Mode::kWall);
    ASSERT_EQ(shape.progress.size(), 1U);
    ASSERT_NE(FindWinner(shape, shape.headline), nullptr);
    EXPECT_DOUBLE_EQ(FindWinner(shape, shape.headline)->ratio, 1.5);
    RunReport report;
    report.shapes = {shape, Summary({PassedStep(1.2, Level::kScreened, 64)})};
    EXPECT_EQ(TallyOf(report, std::nullopt).faster, 2);
    EXPECT_EQ(TallyOf(report, Mode::kWall).nothing_passed, 1);
  }
}

// The page shows what changed from the first kernel that passed; a declined prompt is no rejection.
TEST(SummariseShape, KeepsTheSourcesOfTheFirstAndTheBestAndCountsWhatWasDeclined) {
  Step first = PassedStep(0.9, Level::kScreened, 64), best = PassedStep(1.4, Level::kScreened, 64);
  first.candidate = best.candidate = Candidate();
  first.candidate.sources = {{"k.cu", "first"}};
  best.candidate.sources = {{"k.cu", "best"}};
  Step declined;
  declined.verdict.outcome = Rejected{.rule = std::string(kDeclinedRule), .detail = "no tail here"};
  const ShapeReport shape = Summary({FailedStep("a"), declined, first, best, declined});
  EXPECT_EQ(shape.first_source, "first");
  EXPECT_EQ(shape.source, "best");
  ASSERT_FALSE(shape.failures.empty());
  EXPECT_EQ(shape.failures[0].kind, "declined");
  EXPECT_EQ(shape.failures[0].count, 2);
  EXPECT_EQ(shape.failures[0].example, "no tail here");
  EXPECT_EQ(Summary({PassedStep(1.4, Level::kScreened, 64)}).source, "");
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
  ShapeReport other;
  other.task = "set/level2/006_Conv3d";
  other.workload = "given";
  EXPECT_EQ(ShapeLabel(other), "006_Conv3d given");
}

TEST(SummariseShape, ACertifiedResultBeatsABetterScreenedOne) {
  const ShapeReport shape =
      Summary({PassedStep(1.3, Level::kScreened, 64), PassedStep(1.1, Level::kCertified, 128),
               PassedStep(1.05, Level::kCertified, 256)});
  ASSERT_EQ(shape.winners.size(), 1U);
  EXPECT_EQ(shape.winners[0].config, "wgmma bm=128");
  EXPECT_EQ(shape.winners[0].level, Level::kCertified);
  EXPECT_DOUBLE_EQ(shape.winners[0].primary_us, 2);
  EXPECT_EQ(shape.winners[0].primary, "cublaslt-auto");
  ASSERT_EQ(shape.baselines.size(), 1U);  // the A/A contender is no baseline
}

TEST(SummariseShape, FailuresAreCountedByKindWithTheFirstAsExample) {
  const ShapeReport shape = Summary({FailedStep("first one"), FailedStep("second one")});
  ASSERT_EQ(shape.failures.size(), 1U);
  EXPECT_EQ(shape.failures[0].kind, "incorrect");
  EXPECT_EQ(shape.failures[0].count, 2);
  EXPECT_THAT(shape.failures[0].example, testing::HasSubstr("first one"));
  ASSERT_EQ(shape.failed.size(), 2U);
  EXPECT_EQ(shape.failed[1].evaluation, 2);
  EXPECT_EQ(shape.failed[1].kind, "incorrect");
  EXPECT_THAT(shape.failed[1].why, testing::HasSubstr("second one"));
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
