#include <gtest/gtest.h>

#include "hgemm/family.h"

namespace warpsmith::hgemm {
namespace {

constexpr Problem kProblem = {512, 512, 512, Layout::kTN};

TEST(Families, ProblemsAreNamedByLayoutAndElementType) {
  EXPECT_EQ(NameOf(kProblem), "hgemm-512x512x512-TN");
  EXPECT_EQ(NameOf({64, 128, 256, Layout::kNN, DType::kBF16}), "hgemm-64x128x256-NN-bf16");
}

TEST(Families, DefaultsNameEveryParameterOfASpace) {
  const Space space = SpaceFor(kProblem, {});
  for (const Family& family : Families()) {
    const Config defaults = family.defaults();
    for (const Point& point : space.points()) {
      if (point.family != family.name) continue;
      ASSERT_EQ(point.config.size(), defaults.size());
      for (const auto& [name, value] : point.config) ASSERT_TRUE(defaults.contains(name)) << name;
    }
  }
}

TEST(Families, BothElementTypesHaveTheSameSpace) {
  Problem bf16 = kProblem;
  bf16.dtype = DType::kBF16;
  EXPECT_EQ(SpaceFor(kProblem, {}).size(), SpaceFor(bf16, {}).size());
}

// A kernel made without a parameter that is not known would be another one.
TEST(Families, UnknownFamiliesAndParametersAreRefused) {
  Point point = SpaceFor(kProblem, {}).points().front();
  EXPECT_TRUE(MakeCandidate(kProblem, point).ok());
  point.config["invented"] = 1;
  const Result<Candidate> made = MakeCandidate(kProblem, point);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("invented"), std::string::npos);
  EXPECT_FALSE(MakeCandidate(kProblem, {"strange", {}}).ok());
}

// Points are read from catalogues, too: a tile of no rows would be divided by.
TEST(Families, ValuesOfNoKernelAreRefused) {
  for (const Family& family : Families()) {
    for (const auto& [name, value] : family.defaults()) {
      for (const int64_t bad : {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{4097}}) {
        EXPECT_FALSE(MakeCandidate(kProblem, {std::string(family.name), {{name, bad}}}).ok())
            << family.name << " " << name << "=" << bad;
      }
    }
  }
  // What says whether something is done may be 0; sizes and counts may not, named or not.
  for (const Family& family : Families()) {
    const Config defaults = family.defaults();
    for (const auto& [name, least] : family.least()) {
      EXPECT_TRUE(least == 0 || least == 1) << name;
      Config config = defaults;
      config[name] = 0;
      if (least == 1) {
        EXPECT_FALSE(CheckPoint({std::string(family.name), config}).ok()) << family.name << name;
      }
    }
    EXPECT_EQ(family.least().size(), defaults.size());
  }
  EXPECT_FALSE(MakeCandidate(kProblem, {"mma_sync", {{"warps_m", 1}}}).ok());  // a tile of no rows
  EXPECT_TRUE(MakeCandidate(kProblem, {"wgmma", {{"tma_store", 0}}}).ok());
  const auto refused = MakeCandidate(kProblem, {"wgmma", {{"tile_m", 0}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no kernel of family 'wgmma' has tile_m=0");
  for (const char* size : {"splits", "stages", "cluster_n", "slices"}) {
    EXPECT_FALSE(MakeCandidate(kProblem, {"wgmma", {{size, 0}}}).ok()) << size;
  }
}

TEST(Families, EveryPointOfASpaceCanBeMade) {
  for (const Problem& problem : {kProblem, Problem{64, 64, 64, Layout::kNN}}) {
    const Space space = SpaceFor(problem, {});
    for (const Point& point : space.points()) {
      const auto made = MakeCandidate(problem, point);
      ASSERT_TRUE(made.ok()) << PointName(point) << ": " << made.error().message;
    }
  }
}

}  // namespace
}  // namespace warpsmith::hgemm
