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

}  // namespace
}  // namespace warpsmith::hgemm
