#include <gtest/gtest.h>

#include <algorithm>

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
  const Space space = SpaceFor(kProblem, {});
  for (const Family& family : Families()) {
    const auto first = std::find_if(space.points().begin(), space.points().end(),
                                    [&](const Point& p) { return p.family == family.name; });
    ASSERT_NE(first, space.points().end()) << family.name;
    ASSERT_EQ(family.least().size(), first->config.size());
    for (const auto& [name, least] : family.least()) {
      Point point = *first;
      for (const int64_t bad : {least - 1, int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{4097}}) {
        point.config.at(name) = bad;
        const Status checked = CheckPoint(point);
        ASSERT_FALSE(checked.ok()) << family.name << " " << name << "=" << bad;
        EXPECT_NE(checked.error().message.find(" has " + name + "="), std::string::npos);
      }
      point.config.at(name) = least;
      EXPECT_TRUE(CheckPoint(point).ok()) << family.name << " " << name << "=" << least;
    }
  }
  const auto refused = MakeCandidate(kProblem, {"wgmma", {{"tile_m", 0}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no kernel of family 'wgmma' has tile_m=0");
  for (const char* size : {"splits", "stages", "cluster_n", "slices"}) {
    EXPECT_FALSE(MakeCandidate(kProblem, {"wgmma", {{size, 0}}}).ok()) << size;
  }
  EXPECT_FALSE(MakeCandidate(kProblem, {"mma_sync", {{"warps_m", 1}}}).ok());  // and no tile
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
