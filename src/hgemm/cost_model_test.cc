#include "hgemm/cost_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "embedded/hgemm_cost_model.h"
#include "hgemm/catalogue.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {
namespace {

constexpr Target kDevice{};  // an H200

float Value(const std::vector<float>& features, std::string_view name) {
  const auto names = FeatureNames();
  const auto found = std::find(names.begin(), names.end(), name);
  CHECK(found != names.end());
  return features[static_cast<size_t>(found - names.begin())];
}

TEST(FeaturesOf, FollowFromHowTheProblemIsDivided) {
  // 8 x 16 tiles, each of two halves of K by clusters of two, on 132 SMs.
  const WgmmaParameters p{.tile_m = 128, .tile_n = 128, .stages = 4, .splits = 2};
  const auto features =
      FeaturesOf({1024, 2048, 4096, Layout::kTN}, kDevice, {"wgmma", ToConfig(p)});
  EXPECT_EQ(Value(features, "log2_m"), 10);
  EXPECT_EQ(Value(features, "log2_products"), 33);
  EXPECT_EQ(Value(features, "cluster"), 2);
  EXPECT_EQ(Value(features, "parts_of_k"), 2);
  EXPECT_EQ(Value(features, "busiest_sm_ctas"), 2);
  EXPECT_NEAR(Value(features, "idle_share"), 1 - 256.0 / 264, 1e-6);
  EXPECT_EQ(Value(features, "wasted_share"), 0);
  EXPECT_EQ(Value(features, "blocks_per_cta"), 32);
  EXPECT_EQ(Value(features, "blocks_per_stage"), 8);
  EXPECT_EQ(Value(features, "kernels"), 1);
  // Every CTA reads 256 rows of half of K; the operands are 3072 rows of all of it.
  EXPECT_NEAR(Value(features, "log2_excess_bytes"), std::log2(256 * 256 * 0.5 / 3072), 1e-5);
  EXPECT_EQ(Value(features, "splits"), 2);
  EXPECT_EQ(Value(features, "tile_m"), 128);
  EXPECT_EQ(Value(features, "warps_m"), -1);  // of another family
}

TEST(FeaturesOf, CountTilesThatReachOverTheEdge) {
  const WgmmaParameters p{.tile_m = 128, .tile_n = 128};
  const auto features = FeaturesOf({192, 128, 1024, Layout::kTN}, kDevice, {"wgmma", ToConfig(p)});
  EXPECT_NEAR(Value(features, "wasted_share"), 0.25, 1e-6);
}

TEST(FeaturesOf, AreFiniteForEveryConfiguration) {
  for (const Problem& problem : {Problem{64, 64, 64, Layout::kTN},
                                 {1000, 72, 40, Layout::kNN},
                                 {17, 33, 65, Layout::kTN},
                                 {4096, 8192, 256, Layout::kTN}}) {
    const Space space = SpaceFor(problem, kDevice);
    for (const Point& point : space.points()) {
      const auto features = FeaturesOf(problem, kDevice, point);
      ASSERT_EQ(features.size(), FeatureNames().size());
      for (const float value : features) ASSERT_TRUE(std::isfinite(value)) << PointName(point);
    }
  }
}

// What was recorded before a parameter was there is the kernel of its default.
TEST(FeaturesOf, AreTheSameWhereAParameterHasItsDefault) {
  const Problem problem{1024, 1024, 1024, Layout::kTN};
  Point point{"wgmma", ToConfig(WgmmaParameters{})};
  const auto features = FeaturesOf(problem, kDevice, point);
  point.config.erase("l2_promotion");
  EXPECT_EQ(FeaturesOf(problem, kDevice, point), features);
}

TEST(FeaturesOf, KnowsNothingOfAStrangeFamily) {
  EXPECT_TRUE(FeaturesOf({64, 64, 64, Layout::kTN}, kDevice, {"strange", {}}).empty());
}

TEST(FeatureNames, AreDistinct) {
  std::vector<std::string> names(FeatureNames().begin(), FeatureNames().end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

constexpr Target kH200{};

double BestPrediction(const Problem& problem, std::string_view family = "") {
  const Space space = SpaceFor(problem, kH200);
  double best = HUGE_VAL;
  for (const Point& point : space.points()) {
    if (family.empty() || point.family == family) {
      best = std::min(best, PredictUs(problem, kH200, point));
    }
  }
  return best;
}

Problem ProblemFromText(const std::string& sizes, const std::string& layout) {
  Problem problem;
  char cross;
  std::istringstream(sizes) >> problem.m >> cross >> problem.n >> cross >> problem.k;
  problem.layout = *LayoutFromText(layout);
  return problem;
}

// The file says what the program that fitted it predicts of some kernels: both compute the same
// features, and walk the same trees.
TEST(CostModel, PredictsWhatTheProgramThatFittedItDid) {
  const EmbeddedFile& file = embedded::HgemmCostModel().front();
  const nlohmann::json document = ParseJson(file.path, file.contents).value();
  const nlohmann::json& best = document.at("best_us");
  ASSERT_GE(document.at("sample").size(), 40U);
  for (const nlohmann::json& row : document.at("sample")) {
    const Problem problem = ProblemFromText(row.at("shape"), row.at("layout"));
    const Point point = PointFromName(row.at("kernel").get<std::string>()).value();
    const double m = problem.m, n = problem.n, k = problem.k;
    const double best_us = best.at("fixed_us").get<double>() +
                           best.at("us_per_giga_product").get<double>() * m * n * k / 1e9 +
                           best.at("us_per_megabyte").get<double>() * (m * k + k * n + m * n) / 5e5;
    const double log_slowdown = std::log(PredictUs(problem, kH200, point) / best_us);
    EXPECT_NEAR(log_slowdown, row.at("log").get<double>(), 1e-5) << row;
  }
}

TEST(CostModel, SaysHowItDoesOnShapesThatItHadNotSeen) {
  const EmbeddedFile& file = embedded::HgemmCostModel().front();
  const nlohmann::json held_out = ParseJson(file.path, file.contents).value().at("held_out");
  EXPECT_GE(held_out.at("spaces").get<int>(), 30);
  EXPECT_LT(held_out.at("evaluations_to_99_percent_mean").get<double>(), 5);
}

TEST(CostModel, RefusesWhatIsNone) {
  const auto code = [](std::string_view text) {
    return CostModel::Parse("m.json", text).error().code;
  };
  constexpr std::string_view kHead =
      R"({"schema": "warpsmith.cost-model", "version": 1, "features": ["log2_m"], )";
  const auto with = [&](std::string_view rest) { return std::string(kHead) + std::string(rest); };
  constexpr std::string_view kBest =
      R"("best_us": {"fixed_us": 1, "us_per_giga_product": 0, "us_per_megabyte": 0}, )";
  const std::string best(kBest);
  EXPECT_TRUE(CostModel::Parse("m.json", with(best + R"("trees": []})")).ok());
  EXPECT_EQ(code("{"), ErrorCode::kBadInput);
  EXPECT_EQ(code(R"({"schema": "warpsmith.other"})"), ErrorCode::kBadInput);
  EXPECT_EQ(code(R"({"schema": "warpsmith.cost-model", "version": 2})"), ErrorCode::kVersion);
  EXPECT_EQ(code(R"({"schema": "warpsmith.cost-model", "version": 1, "features": ["later"]})"),
            ErrorCode::kVersion);
  EXPECT_EQ(code(with(R"("trees": []})")), ErrorCode::kBadInput);  // no best_us
  EXPECT_EQ(code(with(R"("trees": [], "best_us": {"fixed_us": 0, "us_per_giga_product": 0,
                          "us_per_megabyte": 0}})")),
            ErrorCode::kBadInput);
  for (const char* tree :
       {R"({"feature": [], "threshold": [], "left": [], "right": [], "value": []})",
        R"({"feature": [-1], "threshold": [0], "left": [0], "right": [0], "value": []})",
        R"({"feature": [-1], "threshold": [0], "left": [0], "right": [0], "value": ["1"]})",
        R"({"feature": [-1], "threshold": 0, "left": [0], "right": [0], "value": [1]})",
        // A circle, a child and a feature that are not there.
        R"({"feature": [0], "threshold": [0], "left": [0], "right": [0], "value": [1]})",
        R"({"feature": [0, -1], "threshold": [0, 0], "left": [1, 0], "right": [2, 0],
            "value": [0, 1]})",
        R"({"feature": [1, -1], "threshold": [0, 0], "left": [1, 0], "right": [1, 0],
            "value": [0, 1]})"}) {
    EXPECT_EQ(code(with(best + R"("trees": [)" + tree + "]}")), ErrorCode::kBadInput) << tree;
  }
}

TEST(PredictUs, IsPositiveAndFiniteForEveryConfiguration) {
  for (const Problem& problem : {Problem{64, 64, 64, Layout::kTN},
                                 {1000, 72, 40, Layout::kNN},
                                 {512, 512, 512, Layout::kNN},
                                 {17, 33, 65, Layout::kTN},
                                 {4096, 4096, 4096, Layout::kTN}}) {
    const Space space = SpaceFor(problem, kH200);
    ASSERT_GT(space.size(), 0U);
    for (const Point& point : space.points()) {
      const double us = PredictUs(problem, kH200, point);
      ASSERT_TRUE(us > 0.5 && us < 1e6) << PointName(point) << ": " << us;
    }
  }
}

// Within a factor of two of what good kernels are known to take.
TEST(PredictUs, HasTheRightMagnitude) {
  const auto near = [](double known_us) {
    return testing::AllOf(testing::Gt(known_us / 2), testing::Lt(known_us * 2));
  };
  EXPECT_THAT(BestPrediction({64, 64, 64, Layout::kTN}), near(1.4));
  EXPECT_THAT(BestPrediction({512, 512, 512, Layout::kTN}), near(3));
  EXPECT_THAT(BestPrediction({1024, 1024, 1024, Layout::kTN}), near(7));
  EXPECT_THAT(BestPrediction({4096, 4096, 4096, Layout::kTN}), near(200));
  EXPECT_THAT(BestPrediction({8192, 8192, 8192, Layout::kTN}), near(1600));
}

TEST(PredictUs, PrefersTheFamilyMadeForTheSize) {
  const Problem tiny{64, 64, 64, Layout::kTN}, large{4096, 4096, 4096, Layout::kTN};
  EXPECT_LT(BestPrediction(tiny, "tiny"), BestPrediction(tiny, "wgmma"));
  EXPECT_LT(BestPrediction(large, "wgmma"), BestPrediction(large, "mma_sync"));
}

// 128 CTAs take one round alone and two in clusters of four, which leave parts of GPCs idle: 5.5 us
// against 10 us on an H200.
TEST(PredictUs, KnowsThatLargeClustersLeaveSmsIdle) {
  const Problem problem{1024, 1024, 1024, Layout::kTN};
  WgmmaParameters alone{.tile_m = 64, .tile_n = 128, .tile_k = 128, .stages = 4, .consumers = 1};
  WgmmaParameters clusters = alone;
  clusters.cluster_m = clusters.cluster_n = 2;
  EXPECT_GT(PredictUs(problem, kH200, {"wgmma", ToConfig(clusters)}),
            1.2 * PredictUs(problem, kH200, {"wgmma", ToConfig(alone)}));
}

TEST(PredictUs, KnowsNothingOfAStrangeFamily) {
  EXPECT_TRUE(std::isinf(PredictUs({64, 64, 64, Layout::kTN}, kH200, {"strange", {}})));
  EXPECT_EQ(ArmOf({64, 64, 64, Layout::kTN}, {"strange", {}}), "strange");
}

// So that each is tried, whatever the model thinks of it.
TEST(ArmOf, TellsWaysOfWorkingApart) {
  const Problem problem{512, 512, 4096, Layout::kTN};
  const auto arm = [&](const WgmmaParameters& p) { return ArmOf(problem, {"wgmma", ToConfig(p)}); };
  const WgmmaParameters plain{.tile_m = 64, .tile_n = 64, .consumers = 1, .tma_store = 0};
  EXPECT_EQ(arm(plain), "wgmma 64x64");
  WgmmaParameters sliced = plain;
  sliced.slices = 4;
  EXPECT_EQ(arm(sliced), "wgmma 64x64 sliced");
  sliced.direct_load = 1, sliced.producer_warps = 4;
  EXPECT_EQ(arm(sliced), "wgmma 64x64 sliced direct");
}

TEST(ArmOf, GroupsASpaceIntoFewArms) {
  const Problem problem{4096, 4096, 4096, Layout::kTN};
  const Space space = SpaceFor(problem, kH200);
  std::set<std::string> arms;
  for (const Point& point : space.points()) arms.insert(ArmOf(problem, point));
  EXPECT_GT(arms.size(), 5U);
  EXPECT_LT(arms.size() * 4, space.size());
}

}  // namespace

}  // namespace warpsmith::hgemm
