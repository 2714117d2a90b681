#include "hgemm/catalogue.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "hgemm/tests/catalogue.h"
#include "hgemm/tests/comparison.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const std::vector<CatalogueRow>& rows) { return ToText({rows}).value(); }

// Without the line that tells of the rows, as one is edited by hand: Mended adds it again.
std::string OpenTextOf(const std::vector<CatalogueRow>& rows) {
  std::string text = TextOf(rows);
  const size_t second = text.find('\n') + 1;
  return text.erase(second, text.find('\n', second) + 1 - second);
}

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseCatalogue("c.csv", text);
  return parsed.ok() ? "" : parsed.error().message;
}

// With the line that the error of `text` names.
std::string Mended(const std::string& text) {
  const std::string fix = ParseCatalogue("c.csv", text).error().fix;
  return With(text, "\nm,n,k", "\n" + fix.substr(fix.find("# ")) + "\nm,n,k");
}

TEST(CatalogueTest, ReadsWhatItWrites) {
  const std::string text = TextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)});
  const auto parsed = ParseCatalogue("c.csv", text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Line();
  EXPECT_EQ(TextOf(parsed->rows), text);
  EXPECT_EQ(parsed->rows[0].kernel, SampleRow(64, 1.5).kernel);
  EXPECT_EQ(parsed->rows[0].results[1].mode, Mode::kServer);
  EXPECT_DOUBLE_EQ(parsed->rows[1].results[0].ratio, 0.9);
}

TEST(CatalogueTest, WritesRowsInOrderOfTheirShapes) {
  const std::string text = TextOf({SampleRow(1024, 1.5), SampleRow(64, 1.5)});
  EXPECT_LT(text.find("\n64,128"), text.find("\n1024,128"));
}

TEST(CatalogueTest, WhatIsSpoiledIsReadAsItStandsOrRefusedByName) {
  size_t refused = 0;
  for (std::string spoiled : Spoiled(OpenTextOf({SampleRow(64, 1.5)}))) {
    auto parsed = ParseCatalogue("c.csv", spoiled);
    const bool lacks_its_line = !parsed.ok() && parsed.error().fix.find("# ") != spoiled.npos;
    if (lacks_its_line && spoiled.find("\nm,n,k") != spoiled.npos) {
      spoiled = Mended(spoiled);
      parsed = ParseCatalogue("c.csv", spoiled);
    }
    if (parsed.ok()) {
      const std::string again = TextOf(parsed->rows);
      EXPECT_EQ(TextOf(ParseCatalogue("c.csv", again).value().rows), again) << spoiled;
    } else {
      ++refused;
      EXPECT_THAT(parsed.error().message, HasSubstr("c.csv")) << spoiled;
    }
  }
  EXPECT_GT(refused, 50U);
}

TEST(CatalogueTest, RefusesWhatWasCutAtTheEndOfALine) {
  const std::string text = TextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)});
  for (size_t end = text.find('\n'); end + 1 < text.size(); end = text.find('\n', end + 1)) {
    EXPECT_NE(ErrorOf(text.substr(0, end + 1)), "") << text.substr(0, end + 1);
  }
  EXPECT_THAT(ErrorOf(With(text, "\n64,128", "\n64,192")), HasSubstr("not what was written"));
  EXPECT_EQ(ErrorOf(text + "# a remark\n"), "");
}

TEST(CatalogueTest, RefusesATextThatDoesNotTellOfItsRows) {
  const std::string text = TextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)});
  const std::string open = OpenTextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)});
  EXPECT_THAT(ErrorOf(open), HasSubstr("c.csv lacks the line '# N rows, sha256 ...'"));
  for (const char* garbled : {"# 2 rows, sha25", "# 2 rowz, sha256 ", "# 2 rows sha256 ", "#"}) {
    EXPECT_NE(ErrorOf(With(text, "# 2 rows, sha256 ", garbled)), "") << garbled;
  }
  EXPECT_NE(ErrorOf(With(text, "# 2 rows", "# 02 rows")), "");
  // Behind the columns it would be a remark of a text that was cut before them.
  const std::string line =
      text.substr(text.find("# 2 rows"), text.find("\nm,n,k") + 1 - text.find("# 2 rows"));
  EXPECT_NE(ErrorOf(open + line), "");
}

TEST(CatalogueTest, AChangedTextIsReadWithTheLineThatTheErrorNames) {
  const std::string open = OpenTextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)});
  const std::string changed = With(open, "1.4900", "1.4800");
  EXPECT_EQ(ErrorOf(Mended(changed)), "");
  EXPECT_EQ(Mended(open), TextOf({SampleRow(64, 1.5), SampleRow(128, 0.9)}));
}

TEST(CatalogueTest, NamesLineAndFieldOfWhatIsWrong) {
  const std::string good = OpenTextOf({SampleRow(64, 1.5)});
  EXPECT_THAT(ErrorOf(""), HasSubstr("c.csv:1: not a catalogue"));
  EXPECT_THAT(ErrorOf("{\"schema\": 1}"), HasSubstr("not a catalogue"));
  EXPECT_THAT(ErrorOf(With(good, "\n64,", "\n0,")), HasSubstr("c.csv:3: m: expected 1 to"));
  EXPECT_THAT(ErrorOf(With(good, "\n64,", "\n64.0,")), HasSubstr("m: expected"));
  EXPECT_THAT(ErrorOf(With(good, ",TN,", ",TT,")), HasSubstr("layout"));
  EXPECT_THAT(ErrorOf(With(good, ",f16,", ",f32,")), HasSubstr("dtype"));
  EXPECT_THAT(ErrorOf(With(good, ",kernel,tiny", ",both,tiny")), HasSubstr("choice"));
  EXPECT_THAT(ErrorOf(With(good, "warp_m=16", "warp_m=x")), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf(With(good, "warp_n=8", "warp_m=8")), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf(With(good, "aaaa", "aaxa")), HasSubstr("candidate: expected 64"));
  EXPECT_THAT(ErrorOf(With(good, "1.5000", "nan")), HasSubstr("above 0"));
  EXPECT_THAT(ErrorOf(With(good, "1.4900 1.5100", "1.5100 1.4900")), HasSubstr("wrong way"));
  EXPECT_THAT(ErrorOf(With(good, "device cublaslt", "dev cublaslt")), HasSubstr("no mode 'dev'"));
  EXPECT_THAT(ErrorOf(With(good, "server cublaslt", "device cublaslt")),
              HasSubstr("mode stands twice"));
  EXPECT_THAT(ErrorOf(With(good, "device cublaslt-auto", "device ")), HasSubstr("has no name"));
  EXPECT_THAT(ErrorOf(With(good, " 1.4900 1.5100", " 1.4900")), HasSubstr("expected 'mode"));
  std::string many;
  for (int i = 0; i < 64; ++i) many += "device b" + std::to_string(i) + " 1 1 1 1 1;";
  EXPECT_THAT(ErrorOf(With(good, "device cublaslt", many + "device cublaslt")),
              HasSubstr("more than 64 results"));
  EXPECT_THAT(ErrorOf(With(good, ",580.159.04,", ",,")), HasSubstr("driver is empty"));
  EXPECT_THAT(ErrorOf(With(good, ",580.159.04,", ",580,159,")), HasSubstr("expected 18 cells"));
  EXPECT_THAT(ErrorOf(Mended(good + good.substr(good.find("\n64,") + 1))),
              HasSubstr("two rows of 64x128"));
}

TEST(CatalogueTest, RefusesAnotherVersionWithItsOwnCode) {
  const auto parsed = ParseCatalogue("c.csv", "# warpsmith hgemm catalogue, version 2\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kVersion);
}

TEST(CatalogueTest, RefusesToWriteWhatItCouldNotRead) {
  CatalogueRow row = SampleRow(64, 1.5);
  row.device = "a, b";
  EXPECT_FALSE(ToText({{row}}).ok());
  row.device = "a\nb";
  EXPECT_FALSE(ToText({{row}}).ok());
}

TEST(CatalogueTest, GuardTakesTheKernelThatGainsAndNowhereLosesMoreThanOneInAHundred) {
  const auto guarded = [](double device, double server) {
    const CatalogueResult results[] = {{Mode::kDeviceHot, "b", 1, device, device, {1, 1}},
                                       {Mode::kServer, "b", 1, 1, server, {1, 1}}};
    return Guarded(results);
  };
  EXPECT_EQ(guarded(1.0, 1.0), Choice::kKernel);
  EXPECT_EQ(guarded(1.02, 0.99), Choice::kKernel);
  EXPECT_EQ(guarded(0.99, 1.02), Choice::kKernel);
  EXPECT_EQ(guarded(1.0, 0.999), Choice::kCublasLt);
  EXPECT_EQ(guarded(0.999, 1.0), Choice::kCublasLt);
  EXPECT_EQ(guarded(0.98, 1.5), Choice::kCublasLt);
  EXPECT_EQ(guarded(1.5, 0.98), Choice::kCublasLt);
  EXPECT_EQ(Guarded({}), Choice::kCublasLt);
}

// As rows are that were only screened.
TEST(CatalogueTest, OfOneModeTheKernelMustNotBeSlowerThere) {
  const auto guarded = [](double ratio, double baseline_us) {
    const CatalogueResult hot{Mode::kDeviceHot, "b", 1, baseline_us, ratio, {0.9, 1.1}};
    return Guarded(std::span(&hot, 1));
  };
  EXPECT_EQ(guarded(1.001, 1.001), Choice::kKernel);
  EXPECT_EQ(guarded(0.999, 0.999), Choice::kCublasLt);
  EXPECT_EQ(guarded(1.001, 0.999), Choice::kCublasLt);  // the medians say otherwise
}

TEST(CatalogueTest, OnlyOneBaselineCounts) {
  const Interval sure{1, 1};
  std::vector<CatalogueResult> results = {{Mode::kDeviceHot, "bar", 1, 0.995, 0.995, sure},
                                          {Mode::kDeviceHot, "slow", 1, 2, 2, sure}};
  EXPECT_EQ(Guarded(results), Choice::kCublasLt);
  results.push_back({Mode::kDeviceHot, std::string(kFallback), 1, 1.01, 1.01, sure});
  EXPECT_EQ(Guarded(results), Choice::kKernel);
}

TEST(CatalogueTest, AModeThatCannotTellIsNoVetoByItself) {
  const Interval wide{0.9, 1.03}, narrow{0.975, 1.005}, below{0.90, 0.99};
  const auto guarded = [](Interval device, Interval offline, Interval server) {
    const CatalogueResult results[] = {{Mode::kDeviceHot, "b", 1, 1.1, 1.1, device},
                                       {Mode::kOffline, "b", 1, 1, 0.97, offline},
                                       {Mode::kServer, "b", 1, 1, 0.97, server}};
    return Guarded(std::span(results).first(server.hi > 0 ? 3 : 2));
  };
  EXPECT_EQ(guarded({1, 1.2}, wide, {}), Choice::kKernel);
  EXPECT_EQ(guarded({1, 1.2}, narrow, {}), Choice::kCublasLt);
  EXPECT_EQ(guarded({1, 1.2}, below, {}), Choice::kCublasLt);
  EXPECT_EQ(guarded({1, 1.2}, wide, wide), Choice::kCublasLt);
  // But in the mean it counts.
  const CatalogueResult hot_and_server[] = {{Mode::kDeviceHot, "b", 1, 1.01, 1.01, {1, 1.02}},
                                            {Mode::kServer, "b", 1, 1, 0.97, wide}};
  EXPECT_EQ(Guarded(hot_and_server), Choice::kCublasLt);
  // The hot graph decides by its ratio, however wide its interval.
  const CatalogueResult hot_and_offline[] = {{Mode::kDeviceHot, "b", 1, 0.98, 0.98, wide},
                                             {Mode::kOffline, "b", 1, 1.5, 1.5, {1.4, 1.6}}};
  EXPECT_EQ(Guarded(hot_and_offline), Choice::kCublasLt);
}

// Seen at 512x4096x8192: 75 us beside 50, and a ratio of 1.05 from three rounds, one disturbed.
TEST(CatalogueTest, ADisturbedRatioDoesNotHideTheMedians) {
  const CatalogueResult disturbed{Mode::kDeviceHot, "b", 75, 50, 1.05, {0.012, 89.9}};
  EXPECT_EQ(Guarded(std::span(&disturbed, 1)), Choice::kCublasLt);
}

TEST(CatalogueTest, AFasterKernelIsNeverLeftOutForIt) {
  EXPECT_TRUE(rc::check([] {
    std::vector<CatalogueResult> results;
    for (const Mode mode : {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer}) {
      const double ratio = *rc::gen::element(0.985, 0.99, 0.995, 1.0, 1.01, 1.05);
      const double half = 1 + *rc::gen::inRange(0, 100) / 1000.0;
      results.push_back({mode, "b", 1, ratio, ratio, {ratio / half, ratio * half}});
    }
    RC_PRE(Guarded(results) == Choice::kKernel);
    CatalogueResult& faster = results[*rc::gen::inRange<size_t>(0, results.size())];
    faster.ratio = std::max(faster.ratio, 1 + *rc::gen::inRange(0, 100) / 1000.0);
    faster.baseline_us = faster.ratio;
    RC_ASSERT(Guarded(results) == Choice::kKernel);
  }));
}

TEST(CatalogueTest, ExplainsBothChoicesWithTheirEvidence) {
  EXPECT_THAT(Explain(SampleRow(64, 1.5)),
              HasSubstr("64x128x256-TN f16 NVIDIA H200: tiny warp_m=16"));
  EXPECT_THAT(Explain(SampleRow(64, 1.5)), HasSubstr("1.500 [1.490, 1.510]"));
  EXPECT_THAT(Explain(SampleRow(64, 0.9)), HasSubstr("H200: cuBLASLt\n  the best kernel was tiny"));
  CatalogueRow forced = SampleRow(64, 0.9);
  forced.choice = Choice::kKernel;
  EXPECT_THAT(Explain(forced), HasSubstr("  chosen against the rule: by hand, "));
  CatalogueRow long_name = SampleRow(64, 1.5);
  long_name.results[0].baseline = std::string(1000, 'b');
  EXPECT_THAT(Explain(long_name), HasSubstr("b     3.000 us: 1.500 [1.490, 1.510]\n"));
  CatalogueRow unkept = SampleRow(64, 1.5);
  unkept.artifact = kArtifactNotKept;
  EXPECT_THAT(Explain(unkept), HasSubstr("cubin not kept"));
}

TEST(CatalogueMergeTest, KeepsTheSurestRowOfEachShape) {
  const Catalogue one{{SampleRow(64, 1.5), SampleRow(128, 1.1)}},
      other{{SampleRow(64, 1.4), SampleRow(256, 1.2)}};
  const Catalogue parts[] = {other, one};
  const Catalogue merged = Merge(parts);
  ASSERT_EQ(merged.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(merged.rows[0].results[0].ratio, 1.5);
  EXPECT_NE(Find(merged, {256, 128, 256}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kNN}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kTN, DType::kBF16}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256}, "NVIDIA H100"), nullptr);
}

CatalogueRow OfLevel(std::string_view level, double ratio) {
  CatalogueRow row = SampleRow(64, ratio);
  row.level = level;
  return row;
}

TEST(CatalogueMergeTest, OnlyAComparisonTakesBackWhatAComparisonDecided) {
  const auto merged = [](const CatalogueRow& one, const CatalogueRow& other) {
    const Catalogue parts[] = {{{one}}, {{other}}};
    return Merge(parts).rows.front();
  };
  const CatalogueRow compared = OfLevel(kComparedLevel, 0.95);
  EXPECT_EQ(merged(compared, OfLevel(kScreenedLevel, 1.5)).choice, Choice::kCublasLt);
  EXPECT_EQ(merged(compared, OfLevel(kCertifiedLevel, 1.5)).choice, Choice::kCublasLt);
  EXPECT_EQ(merged(compared, OfLevel(kComparedLevel, 1.5)).choice, Choice::kKernel);
  EXPECT_EQ(merged(OfLevel(kScreenedLevel, 1.5), OfLevel(kCertifiedLevel, 1.1)).level, "certified");
}

TEST(CatalogueMergeTest, AChoiceMadeByHandStays) {
  CatalogueRow by_hand = OfLevel(kScreenedLevel, 1.2);
  by_hand.choice = Choice::kCublasLt;
  const Catalogue parts[] = {{{by_hand}}, {{OfLevel(kScreenedLevel, 1.2)}}};
  EXPECT_EQ(Merge(parts).rows.front().choice, Choice::kCublasLt);
}

// As rows are that a version with another rule chose.
TEST(CatalogueMergeTest, AChoiceAgainstTheRuleYieldsToABetterComparison) {
  CatalogueRow old = OfLevel(kComparedLevel, 1.1);
  old.choice = Choice::kCublasLt;
  const auto merged = [&](const CatalogueRow& other) {
    const Catalogue parts[] = {{{old}}, {{other}}};
    return Merge(parts).rows.front().choice;
  };
  EXPECT_EQ(merged(OfLevel(kComparedLevel, 1.2)), Choice::kKernel);
  EXPECT_EQ(merged(OfLevel(kComparedLevel, 1.1)), Choice::kCublasLt);  // the same, but by hand
  EXPECT_EQ(merged(OfLevel(kScreenedLevel, 1.5)), Choice::kCublasLt);
}

TEST(CatalogueMergeTest, DoesNotFeelTheOrderOfItsParts) {
  EXPECT_TRUE(rc::check([] {
    const auto draw = [] {
      Catalogue part;
      for (const int64_t m : {64, 128, 256}) {
        if (!*rc::gen::arbitrary<bool>()) continue;
        const auto hour = std::to_string(*rc::gen::inRange(10, 20));
        CatalogueRow row = SampleRow(m, *rc::gen::element(0.9, 1.1, 1.3), "2026-11-21T" + hour);
        row.level = *rc::gen::element(kScreenedLevel, kComparedLevel, kCertifiedLevel);
        row.choice = *rc::gen::element(Choice::kKernel, Choice::kCublasLt);
        row.candidate = std::string(64, *rc::gen::element('a', 'b'));
        part.rows.push_back(row);
      }
      return part;
    };
    std::vector<Catalogue> parts = {draw(), draw(), draw()};
    const std::string forward = ToText(Merge(parts)).value();
    std::reverse(parts.begin(), parts.end());
    RC_ASSERT(ToText(Merge(parts)).value() == forward);
    const Catalogue nested[] = {Merge(std::span(parts).first(2)), parts[2]};
    RC_ASSERT(ToText(Merge(nested)).value() == forward);
  }));
}

CatalogueRow ConfigurationRow(const Problem& problem, int64_t warp_m,
                              Choice choice = Choice::kKernel) {
  CatalogueRow row;
  row.problem = problem;
  row.choice = choice;
  row.kernel = {"tiny", {{"warp_m", warp_m}}};
  return row;
}

TEST(OneOfEachConfigurationTest, TakesTheSmallestShapeOfEachThatWasChosen) {
  const Catalogue catalogue{{ConfigurationRow({512, 512, 512, Layout::kTN}, 16),
                             ConfigurationRow({64, 64, 128, Layout::kTN}, 16),
                             ConfigurationRow({256, 64, 64, Layout::kTN}, 32),
                             ConfigurationRow({64, 64, 64, Layout::kTN}, 64, Choice::kCublasLt),
                             ConfigurationRow({128, 64, 64, Layout::kNN}, 16)}};
  std::vector<Problem> problems;
  for (const CatalogueRow& row : OneOfEachConfiguration(catalogue)) problems.push_back(row.problem);
  // 64x64x128 and 128x64x64 are as large as each other: they stay in their order.
  EXPECT_THAT(problems, ::testing::ElementsAre(Problem{64, 64, 128, Layout::kTN},
                                               Problem{128, 64, 64, Layout::kNN},
                                               Problem{256, 64, 64, Layout::kTN}));
  EXPECT_TRUE(OneOfEachConfiguration({}).empty());
}

TEST(OneOfEachConfigurationTest, ARowMayBeOlderThanAParameter) {
  Catalogue catalogue{{ConfigurationRow({64, 64, 128}, 16), ConfigurationRow({64, 64, 256}, 16)}};
  catalogue.rows[1].kernel = WithAllParameters(catalogue.rows[1].kernel);
  EXPECT_THAT(OneOfEachConfiguration(catalogue), ::testing::SizeIs(1));
  ++catalogue.rows[1].kernel.config["overlap"];
  EXPECT_THAT(OneOfEachConfiguration(catalogue), ::testing::SizeIs(2));
}

using ::testing::ElementsAre;
using ::testing::SizeIs;

Point Wgmma(const WgmmaParameters& p) { return {"wgmma", ToConfig(p)}; }

CatalogueRow Row(const Problem& problem, const Point& kernel) {
  CatalogueRow row;
  row.problem = problem;
  row.kernel = kernel;
  return row;
}

const WgmmaParameters kPairs = {
    .tile_m = 128, .tile_n = 64, .stages = 9, .cluster_m = 2, .tma_store = 0, .overlap = 2};

// What a shape's own winner comes to in `space`.
std::vector<Point> Alike(const Space& space, const Point& winner) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  return LikeWinnersNearby(Catalogue{{Row(problem, winner)}}, problem, space, 1);
}

TEST(LikeWinnersNearby, TakesThePointItselfOrOneThatDiffersInLooseThingsAlone) {
  WgmmaParameters deep = kPairs, other = kPairs, split = kPairs;
  deep.stages = 7;
  other.stages = 7, other.raster_group = 16;
  split.splits = 2;
  const Space space("s", {Wgmma(other), Wgmma(deep), Wgmma(split)});
  EXPECT_THAT(Alike(space, Wgmma(split)), ElementsAre(Wgmma(split)));
  EXPECT_THAT(Alike(space, Wgmma(kPairs)), ElementsAre(Wgmma(deep)));
  // One that was recorded before a parameter was there.
  Point old = Wgmma(split);
  old.config.erase("direct_load");
  EXPECT_THAT(Alike(Space("s", {old}), Wgmma(split)), ElementsAre(old));
  WgmmaParameters alone = kPairs;
  alone.cluster_m = 1;
  EXPECT_THAT(Alike(space, Wgmma(alone)), SizeIs(0));
  EXPECT_THAT(Alike(space, {"tiny", {{"warp_m", 16}}}), SizeIs(0));
}

// 512x2048x8192 was won by splits where nobody had tried the pairs that won at K = 4096.
TEST(LikeWinnersNearby, TakesTheNearestFirstAndNoneTwice) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  const Space space = SpaceFor(problem, {});
  WgmmaParameters far = kPairs, turned = kPairs, farther = kPairs;
  far.cluster_m = 1;
  farther.cluster_m = farther.cluster_n = 1, farther.tile_m = 64, farther.consumers = 1;
  turned.tile_m = 64, turned.tile_n = 128, turned.consumers = 1;
  const Catalogue catalogue{{Row({512, 2048, 4096, Layout::kTN}, Wgmma(kPairs)),
                             Row({64, 64, 64, Layout::kTN}, Wgmma(farther)),
                             Row({1024, 2048, 4096, Layout::kTN}, Wgmma(far)),
                             Row({512, 2048, 2048, Layout::kTN}, Wgmma(kPairs)),
                             Row({512, 2048, 8192, Layout::kNN}, Wgmma(turned))}};
  const std::vector<Point> points = LikeWinnersNearby(catalogue, problem, space, 8);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].config.at("cluster_m"), 2);
  EXPECT_EQ(points[1].config.at("cluster_m"), 1);
  for (const Point& point : points) EXPECT_GE(space.Find(point), 0);
  EXPECT_THAT(Alike(space, Wgmma(farther)), SizeIs(1));  // it is only too far away
  EXPECT_THAT(LikeWinnersNearby(catalogue, problem, space, 1), SizeIs(1));
  EXPECT_THAT(LikeWinnersNearby({}, problem, space, 8), SizeIs(0));
}

TEST(LikeWinnersNearby, ExchangesRowsAndColumns) {
  const Problem problem = {2048, 512, 8192, Layout::kTN};
  WgmmaParameters wide = kPairs;
  wide.consumers = 1;
  const Catalogue catalogue{{Row({512, 2048, 8192, Layout::kTN}, Wgmma(wide))}};
  const std::vector<Point> points = LikeWinnersNearby(catalogue, problem, SpaceFor(problem, {}), 8);
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_EQ(points[0].config.at("tile_m"), 64);
  EXPECT_EQ(points[0].config.at("tile_n"), 128);
  EXPECT_EQ(points[0].config.at("cluster_n"), 2);
}

TEST(LikeWinnersNearby, HasAllOfItsOwn) {
  const Problem problem = {512, 2048, 8192, Layout::kTN};
  WgmmaParameters alone = kPairs, deep = kPairs;
  alone.cluster_m = 1;
  deep.stages = 7;
  CatalogueRow again = Row(problem, Wgmma(alone));
  again.device = "another";
  const Catalogue catalogue{
      {Row(problem, Wgmma(kPairs)), again, Row({512, 2048, 4096, Layout::kTN}, Wgmma(deep))}};
  const Space space("s", {Wgmma(alone), Wgmma(deep), Wgmma(kPairs)});
  EXPECT_THAT(LikeWinnersNearby(catalogue, problem, space, 1),
              ElementsAre(Wgmma(kPairs), Wgmma(alone)));
}

class WithOwnWinnersTest : public ::testing::Test {
 protected:
  std::vector<Point> Added(const std::vector<Point>& kernels, const Target& target = {}) {
    Catalogue catalogue;
    for (const Point& kernel : kernels) catalogue.rows.push_back(Row(problem_, kernel));
    catalogue.rows.push_back(Row({512, 2048, 4096, Layout::kTN}, Wgmma({})));
    const Space space = WithOwnWinners(catalogue, problem_, target, Space("s", {Wgmma(kPairs)}));
    EXPECT_EQ(space.name(), "s");
    EXPECT_EQ(space.points().front(), Wgmma(kPairs));
    return {space.points().begin() + 1, space.points().end()};
  }

  const Problem problem_ = {512, 2048, 8192, Layout::kTN};
};

TEST_F(WithOwnWinnersTest, AddsWhatTheSpaceLeavesOutOnce) {
  WgmmaParameters deep = kPairs;
  deep.stages = 7;
  Point old = Wgmma(kPairs);
  old.config.erase("l2_promotion");
  EXPECT_THAT(Added({old, Wgmma(deep), Wgmma(deep)}), ElementsAre(Wgmma(deep)));
  EXPECT_THAT(Added({}), SizeIs(0));
}

TEST_F(WithOwnWinnersTest, LeavesOutWhatCannotRun) {
  WgmmaParameters deep = kPairs, huge = kPairs;
  deep.stages = 7;
  huge.stages = 4000;
  Point later = Wgmma(deep), wrong = Wgmma(deep);
  later.config["of_tomorrow"] = 1;
  wrong.config["tile_m"] = 0;
  EXPECT_THAT(Added({later, wrong, Wgmma(huge), {"of_tomorrow", {}}}), SizeIs(0));
  EXPECT_THAT(Added({Wgmma(deep)}, {.compute_capability = 80}), SizeIs(0));
  EXPECT_THAT(Added({Wgmma(deep)}, {.overlap = false}), SizeIs(0));
  deep.overlap = 3;
  EXPECT_THAT(Added({Wgmma(deep)}), SizeIs(0));
  deep.overlap = 0;
  EXPECT_THAT(Added({Wgmma(deep)}, {.overlap = false}), SizeIs(1));
}

}  // namespace

}  // namespace warpsmith::hgemm
