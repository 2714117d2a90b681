#include "hgemm/catalogue.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

CatalogueRow Row(int64_t m, double ratio, const std::string& date = "2026-11-21T11:00:00Z") {
  CatalogueRow row;
  row.problem = {m, 128, 256};
  row.device = "NVIDIA H200";
  row.kernel = {"tiny", {{"warp_m", 16}, {"warp_n", 8}}};
  row.candidate = std::string(64, 'a');
  row.plan_id = std::string(64, 'b');
  row.artifact = std::string(64, 'c');
  row.results = {
      {Mode::kDeviceHot, "cublaslt-auto", 2.0, 2.0 * ratio, ratio, {ratio - 0.01, ratio + 0.01}},
      {Mode::kServer, "cublaslt-auto", 9.5, 10.0, 1.0526, {0.99, 1.1}}};
  row.choice = Guarded(row.results);
  row.architecture = "sm_90a";
  row.driver = "580.159.04";
  row.toolkit = "nvrtc 13.0";
  row.library = "cuBLASLt 13.1.0";
  row.level = "certified";
  row.date = date;
  return row;
}

std::string TextOf(const std::vector<CatalogueRow>& rows) { return ToText({rows}).value(); }

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseCatalogue("c.csv", text);
  return parsed.ok() ? "" : parsed.error().message;
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(CatalogueTest, ReadsWhatItWrites) {
  const std::string text = TextOf({Row(64, 1.5), Row(128, 0.9)});
  const auto parsed = ParseCatalogue("c.csv", text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Line();
  EXPECT_EQ(TextOf(parsed->rows), text);
  EXPECT_EQ(parsed->rows[0].kernel, Row(64, 1.5).kernel);
  EXPECT_EQ(parsed->rows[0].results[1].mode, Mode::kServer);
  EXPECT_DOUBLE_EQ(parsed->rows[1].results[0].ratio, 0.9);
}

TEST(CatalogueTest, WritesRowsInOrderOfTheirShapes) {
  const std::string text = TextOf({Row(1024, 1.5), Row(64, 1.5)});
  EXPECT_LT(text.find("\n64,128"), text.find("\n1024,128"));
}

TEST(CatalogueTest, NamesLineAndFieldOfWhatIsWrong) {
  const std::string good = TextOf({Row(64, 1.5)});
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
  EXPECT_THAT(ErrorOf(With(good, ",580.159.04,", ",,")), HasSubstr("driver is empty"));
  EXPECT_THAT(ErrorOf(With(good, ",580.159.04,", ",580,159,")), HasSubstr("expected 18 cells"));
  EXPECT_THAT(ErrorOf(good + good.substr(good.find("\n64,") + 1)), HasSubstr("two rows of 64x128"));
}

TEST(CatalogueTest, RefusesAnotherVersionWithItsOwnCode) {
  const auto parsed = ParseCatalogue("c.csv", "# warpsmith hgemm catalogue, version 2\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kVersion);
}

TEST(CatalogueTest, RefusesToWriteWhatItCouldNotRead) {
  CatalogueRow row = Row(64, 1.5);
  row.device = "a, b";
  EXPECT_FALSE(ToText({{row}}).ok());
  row.device = "a\nb";
  EXPECT_FALSE(ToText({{row}}).ok());
}

TEST(CatalogueTest, GuardTakesTheKernelOnlyWhereItIsNowhereSlower) {
  const auto guarded = [](double device, double server) {
    const CatalogueResult results[] = {{Mode::kDeviceHot, "b", 1, 1, device, {1, 1}},
                                       {Mode::kServer, "b", 1, 1, server, {1, 1}}};
    return Guarded(results);
  };
  EXPECT_EQ(guarded(1.0, 0.99), Choice::kKernel);
  EXPECT_EQ(guarded(0.999, 1.5), Choice::kCublasLt);
  EXPECT_EQ(guarded(1.5, 0.98), Choice::kCublasLt);
  EXPECT_EQ(Guarded({}), Choice::kCublasLt);
}

TEST(CatalogueTest, AModeThatCannotTellDoesNotDecideAlone) {
  const Interval wide{0.9, 1.03}, narrow{0.975, 1.005}, below{0.90, 0.99};
  const auto guarded = [](Interval device, Interval offline, Interval server) {
    const CatalogueResult results[] = {{Mode::kDeviceHot, "b", 1, 1, 1.1, device},
                                       {Mode::kOffline, "b", 1, 1, 0.97, offline},
                                       {Mode::kServer, "b", 1, 1, 0.97, server}};
    return Guarded(std::span(results).first(server.hi > 0 ? 3 : 2));
  };
  EXPECT_EQ(guarded({1, 1.2}, wide, {}), Choice::kKernel);
  EXPECT_EQ(guarded({1, 1.2}, narrow, {}), Choice::kCublasLt);
  EXPECT_EQ(guarded({1, 1.2}, below, {}), Choice::kCublasLt);
  EXPECT_EQ(guarded({1, 1.2}, wide, wide), Choice::kCublasLt);
  // The hot graph decides by its ratio, however wide its interval.
  const CatalogueResult hot{Mode::kDeviceHot, "b", 1, 1, 0.999, wide};
  EXPECT_EQ(Guarded(std::span(&hot, 1)), Choice::kCublasLt);
}

// Seen at 512x4096x8192: 75 us beside 50, and a ratio of 1.05 from three rounds, one disturbed.
TEST(CatalogueTest, ADisturbedRatioDoesNotHideTheMedians) {
  const CatalogueResult disturbed{Mode::kDeviceHot, "b", 75, 50, 1.05, {0.012, 89.9}};
  EXPECT_EQ(Guarded(std::span(&disturbed, 1)), Choice::kCublasLt);
}

TEST(CatalogueTest, AFasterKernelIsNeverLeftOutForIt) {
  rc::check([] {
    std::vector<CatalogueResult> results;
    for (const Mode mode : {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer}) {
      const double ratio = *rc::gen::inRange(900, 1100) / 1000.0;
      const double half = 1 + *rc::gen::inRange(0, 100) / 1000.0;
      results.push_back({mode, "b", 1, ratio, ratio, {ratio / half, ratio * half}});
    }
    if (Guarded(results) != Choice::kKernel) return;
    CatalogueResult& faster = results[*rc::gen::inRange<size_t>(0, results.size())];
    faster.ratio = 1 + *rc::gen::inRange(0, 100) / 1000.0;
    RC_ASSERT(Guarded(results) == Choice::kKernel);
  });
}

TEST(CatalogueTest, ExplainsBothChoicesWithTheirEvidence) {
  EXPECT_THAT(Explain(Row(64, 1.5)), HasSubstr("64x128x256-TN f16 NVIDIA H200: tiny warp_m=16"));
  EXPECT_THAT(Explain(Row(64, 1.5)), HasSubstr("1.500 [1.490, 1.510]"));
  EXPECT_THAT(Explain(Row(64, 0.9)), HasSubstr("H200: cuBLASLt\n  the best kernel was tiny"));
  CatalogueRow forced = Row(64, 0.9);
  forced.choice = Choice::kKernel;
  EXPECT_THAT(Explain(forced), HasSubstr("chosen by hand"));
}

TEST(CatalogueTest, MergeKeepsTheSurestRowOfEachShape) {
  const Catalogue one{{Row(64, 1.5), Row(128, 1.1)}}, other{{Row(64, 1.4), Row(256, 1.2)}};
  const Catalogue parts[] = {other, one};
  const Catalogue merged = Merge(parts);
  ASSERT_EQ(merged.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(merged.rows[0].results[0].ratio, 1.5);
  EXPECT_NE(Find(merged, {256, 128, 256}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kNN}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kTN, DType::kBF16}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256}, "NVIDIA H100"), nullptr);
}

TEST(CatalogueTest, MergeDoesNotFeelTheOrderOfItsParts) {
  rc::check([] {
    const auto draw = [] {
      Catalogue part;
      for (const int64_t m : {64, 128, 256}) {
        if (!*rc::gen::arbitrary<bool>()) continue;
        const auto hour = std::to_string(*rc::gen::inRange(10, 20));
        part.rows.push_back(Row(m, *rc::gen::element(0.9, 1.1, 1.3), "2026-11-21T" + hour));
      }
      return part;
    };
    std::vector<Catalogue> parts = {draw(), draw(), draw()};
    const std::string forward = TextOf(Merge(parts).rows);
    std::reverse(parts.begin(), parts.end());
    RC_ASSERT(TextOf(Merge(parts).rows) == forward);
    const Catalogue nested[] = {Merge(std::span(parts).first(2)), parts[2]};
    RC_ASSERT(TextOf(Merge(nested).rows) == forward);
  });
}

}  // namespace
}  // namespace warpsmith::hgemm
