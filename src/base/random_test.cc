#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace warpsmith {
namespace {

// Stored runs are replayed from their seed: these numbers may never change.
TEST(Random, KnownAnswers) {
  Random random(42, "search");
  EXPECT_EQ(random.Bits(), 7926756036196289564U);
  EXPECT_EQ(random.Bits(), 14983834077553465221U);
  EXPECT_EQ(random.Below(1000), 18U);
  EXPECT_EQ(random.Uniform(), 0x1.2c50dac5e9ae1p-1);
  EXPECT_EQ(random.Normal(), 0x1.b888c3dee05e8p-1);
}

TEST(Random, StreamsDiffer) {
  EXPECT_NE(Random(1, "a").Bits(), Random(1, "b").Bits());
  EXPECT_NE(Random(1, "a").Bits(), Random(2, "a").Bits());
  EXPECT_NE(Random::Secret().Bits(), Random::Secret().Bits());
}

TEST(Random, BelowIsUniform) {
  Random random(7, "below");
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[random.Below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // 5 sigma
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(Random, NormalIsTheInverseOfTheNormalDistribution) {
  // One uniform number makes one normal number, so the same stream tells what it must be.
  Random normals(11, "normal");
  Random uniforms(11, "normal");
  for (int i = 0; i < 100'000; ++i) {
    const double p = (static_cast<double>(uniforms.Bits() >> 12) + 0.5) * 0x1p-52;
    const double z = normals.Normal();
    const double expected = z < 0 ? p : 1 - p;
    ASSERT_NEAR(0.5 * std::erfc(std::abs(z) / std::sqrt(2.0)) / expected, 1, 1e-13) << z;
  }
}

TEST(Random, NormalHasItsMoments) {
  Random random(3, "moments");
  double sum = 0, squares = 0, fourths = 0;
  constexpr int kCount = 1'000'000;
  for (int i = 0; i < kCount; ++i) {
    const double z = random.Normal();
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.005);
  EXPECT_NEAR(squares / kCount, 1, 0.007);
  EXPECT_NEAR(fourths / kCount, 3, 0.05);
}

TEST(Random, UniformStaysInside) {
  Random random(5, "uniform");
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.Uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
  }
}

TEST(Random, ShuffleKeepsEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Random(9, "shuffle").Shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace warpsmith
