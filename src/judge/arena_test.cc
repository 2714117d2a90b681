#include "judge/arena.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace warpsmith::judge {
namespace {

RC_GTEST_PROP(RedrawnShare, IsTwoElementsAtLeastAndOneInAThousandAtMost, (uint64_t seed)) {
  const auto elements = *rc::gen::inRange<int64_t>(1, int64_t{1} << 32);
  const double share = RedrawnShare(elements, seed);
  const double least = 2 / static_cast<double>(elements);
  RC_ASSERT(share >= least * 0.999);
  RC_ASSERT(share <= std::max(1e-3, least) * 1.001);
}

// Of 16 Mi elements, 64 KiB of which somebody looks at: some duplicates differ in so few that none
// of them is there, others in many.
TEST(RedrawnShare, VariesFromPairToPair) {
  constexpr int64_t kElements = 16 << 20;
  int few = 0, many = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    const double elements = double{RedrawnShare(kElements, seed)} * kElements;
    few += elements < 40 ? 1 : 0;
    many += elements > 1000 ? 1 : 0;
  }
  EXPECT_GT(few, 10);
  EXPECT_GT(many, 10);
}

}  // namespace
}  // namespace warpsmith::judge
