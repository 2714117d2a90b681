#include "hgemm/bench/contest.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "hgemm/bench/measurement_file.h"
#include "hgemm/tests/comparison.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

constexpr double kConfidence = 0.99;

// Seven rounds; in each both of a pair are slowed down alike, by the round's own amount.
ContenderTiming Timed(const std::string& name, double base_us, int rounds = 7) {
  ContenderTiming timing;
  timing.name = name;
  for (int round = 0; round < rounds; ++round) {
    const double drift = 1 + 0.05 * round;
    const double jitter = 1 + (round % 2 == 0 ? 0.001 : -0.001) * (name == "candidate" ? 1 : 0);
    timing.samples.push_back(
        {0, round, static_cast<float>(base_us * drift * jitter), 1980, 41, 350});
  }
  timing.median_us = base_us * 1.15;
  return timing;
}

Timing TimingOf(int rounds = 7) {
  Timing timing;
  for (const Mode mode : kComparedModes) {
    ModeTiming one;
    one.mode = mode;
    one.candidate = Timed("candidate", 2);
    one.baselines = {Timed(std::string(kPrimary), 3), Timed("lib:/l.so", 2.5, rounds)};
    timing.modes.push_back(one);
  }
  return timing;
}

TEST(ComparisonReportTest, ABarThatIsBeatenIsNoHeadline) {
  MeasurementTable table = SampleTable();
  table.shapes[0].primary_check = PrimaryCheck{6, 1, {}};
  EXPECT_EQ(ToJson(table)["bar"]["headline"], true);
  table.shapes[0].primary_check->violations = {{Mode::kDeviceHot, "cublas-tn", Ratio(1.1)}};
  EXPECT_THAT(SummaryText(table, TableStyle::kMarkdown), HasSubstr("1 violation: not a headline"));
  EXPECT_EQ(ToJson(table)["bar"]["headline"], false);
}

const ShapeTerms kTerms = {{64, 128, 256}, "cublaslt", 0.5, "lib:/l.so"};

TEST(ComparisonShapeTest, PairsBothWithCublasLtRoundByRound) {
  const auto measured = ShapeOf(kTerms, TimingOf(), kConfidence);
  ASSERT_TRUE(measured.ok()) << measured.error().Line();
  EXPECT_EQ(measured->shape.choice, "cublaslt");
  EXPECT_EQ(measured->shape.roofline_us, 0.5);
  for (const ModeComparison& mode : measured->shape.modes) {
    // What slowed a round down cancels: 3 / 2 and 3 / 2.5 remain.
    EXPECT_NEAR(mode.kernel.value, 1.5, 0.002);
    EXPECT_NEAR(mode.library.value, 1.2, 1e-5);
    EXPECT_LT(mode.library.interval.hi - mode.library.interval.lo, 1e-4);
    EXPECT_GT(mode.kernel.interval.hi - mode.kernel.interval.lo, 1e-3);
    EXPECT_NEAR(mode.library_us, 2.5 * 1.15, 1e-9);
  }
}

TEST(ComparisonShapeTest, KeepsEverySampleWithItsClock) {
  const std::string samples = ShapeOf(kTerms, TimingOf(), kConfidence)->samples;
  EXPECT_EQ(std::count(samples.begin(), samples.end(), '\n'), 4 * 3 * 7);
  EXPECT_THAT(samples, HasSubstr("64,128,256,device,lt_auto,0,2,3.3,1980,41,350\n"));
  EXPECT_THAT(samples, HasSubstr("64,128,256,server,ours,0,0,2.5,1980,41,350\n"));
}

TEST(ComparisonShapeTest, SaysWhatIsFasterThanTheBar) {
  EXPECT_EQ(ShapeOf(kTerms, TimingOf(), kConfidence)->shape.primary_check, std::nullopt);
  ShapeTerms terms = kTerms;
  terms.beside = {"cublas-nn", "cublas-tn"};
  Timing timing = TimingOf();
  for (ModeTiming& mode : timing.modes) {
    mode.baselines.push_back(Timed("cublas-nn", 3));
    mode.baselines.push_back(Timed("cublas-tn", mode.mode == Mode::kOffline ? 2.9 : 3.01));
  }
  const auto measured = ShapeOf(terms, timing, kConfidence);
  ASSERT_TRUE(measured.ok()) << measured.error().Line();
  ASSERT_TRUE(measured->shape.primary_check.has_value());
  const PrimaryCheck& check = *measured->shape.primary_check;
  EXPECT_EQ(check.others, 2);
  EXPECT_EQ(check.choices, 1);
  ASSERT_EQ(check.violations.size(), 1U);
  EXPECT_EQ(check.violations[0].mode, Mode::kOffline);
  EXPECT_EQ(check.violations[0].name, "cublas-tn");
  EXPECT_NEAR(check.violations[0].ratio.value, 3 / 2.9, 1e-4);
  EXPECT_THAT(measured->samples, HasSubstr("64,128,256,server,cublas-nn,0,0,3,1980,41,350\n"));
  terms.beside = {"cublaslt-heuristic-nn"};
  EXPECT_FALSE(ShapeOf(terms, timing, kConfidence).ok());
}

TEST(ComparisonShapeTest, SaysWhatTheKernelIsWithoutLaunchOverlap) {
  EXPECT_FALSE(ShapeOf(kTerms, TimingOf(), kConfidence)->shape.modes[0].plain.has_value());
  ShapeTerms terms = kTerms;
  terms.plain = kItself;
  const auto itself = ShapeOf(terms, TimingOf(), kConfidence);
  EXPECT_EQ(itself->shape.modes[2].plain->value, itself->shape.modes[2].kernel.value);
  EXPECT_EQ(itself->shape.modes[2].plain_us, itself->shape.modes[2].kernel_us);
  terms.plain = "without-overlap";
  EXPECT_FALSE(ShapeOf(terms, TimingOf(), kConfidence).ok());
  Timing timing = TimingOf();
  for (ModeTiming& mode : timing.modes) mode.baselines.push_back(Timed("without-overlap", 2.4));
  const auto measured = ShapeOf(terms, timing, kConfidence);
  ASSERT_TRUE(measured.ok()) << measured.error().Line();
  EXPECT_NEAR(measured->shape.modes[3].plain->value, 3 / 2.4, 1e-4);
  EXPECT_THAT(measured->samples, HasSubstr("64,128,256,server,plain,0,0,2.4,1980,41,350\n"));
}

TEST(ComparisonShapeTest, WithoutAnIntervalThereIsNoRow) {
  const auto once = ShapeOf(kTerms, TimingOf(1), kConfidence);
  ASSERT_FALSE(once.ok());
  EXPECT_THAT(once.error().message, HasSubstr("64x128x256: fewer than two rounds of lib:/l.so"));
  Timing lacking = TimingOf();
  lacking.modes.pop_back();
  EXPECT_THAT(ShapeOf(kTerms, lacking, kConfidence).error().message, HasSubstr("mode server"));
  ShapeTerms other = kTerms;
  other.library_baseline = "lib:/other.so";
  EXPECT_FALSE(ShapeOf(other, TimingOf(), kConfidence).ok());
}

TEST(ComparisonReportTest, SaysEachClassForLibraryAndKernel) {
  const std::string text = SummaryText(SampleTable(), TableStyle::kPlain);
  EXPECT_THAT(text, HasSubstr("NVIDIA H200, TN f16, driver 580.159.04, cuBLASLt 13.1.0"));
  for (const char* mode :
       {"mode device\n", "mode device-cold\n", "mode offline\n", "mode server\n"}) {
    EXPECT_THAT(text, HasSubstr(mode));
  }
  EXPECT_THAT(text, HasSubstr("tiny"));
  EXPECT_THAT(text, HasSubstr("kernel alone"));
  EXPECT_THAT(text, HasSubstr("64x128x64"));
  EXPECT_THAT(text, HasSubstr("1.162"));  // sqrt(1.5 * 0.9)
  EXPECT_THAT(text, HasSubstr("bar: not checked beside NVIDIA's other ways: not a headline"));
}

TEST(ComparisonReportTest, MarkdownTablesHaveACellForEachColumn) {
  const std::string text = SummaryText(SampleTable(), TableStyle::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| class | of | shapes | geomean | 99 % interval |"));
  EXPECT_THAT(text, HasSubstr("| --- | --- | ---: | ---: |"));
  EXPECT_THAT(text, HasSubstr("| all | library | 2 | 1.162 |"));
}

TEST(ComparisonReportTest, NothingComparedIsSaid) {
  EXPECT_THAT(SummaryText({SampleTerms(), {}, {}}, TableStyle::kPlain),
              HasSubstr("no shape was compared"));
}

TEST(ComparisonReportTest, JsonHasRowsAndSummary) {
  const nlohmann::json document = ToJson(SampleTable());
  EXPECT_EQ(document["rows"].size(), 8U);
  ASSERT_EQ(document["sessions"].size(), 1U);
  EXPECT_EQ(document["sessions"][0]["driver"], "580.159.04");
  EXPECT_EQ(document["rows"][7]["session"], 0);
  EXPECT_EQ(document["summary"][0]["classes"]["tiny"]["library"]["shapes"], 2);
  EXPECT_EQ(document["summary"][3]["mode"], "server");
  EXPECT_EQ(document["summary"][0]["by_log2_mnk"]["19"]["kernel"]["worst_shape"], "64x128x64");
}

}  // namespace
}  // namespace warpsmith::hgemm
