#include "search/call_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace warpsmith::search {
namespace {

TEST(CallTime, EndsAfterMaxSecondsAndWithoutThemNever) {
  PaceOptions pace;
  const CallTime unlimited(pace);
  EXPECT_TRUE(std::isinf(unlimited.Left()));
  EXPECT_FALSE(unlimited.IsLate());
  pace.max_seconds = 3600;
  const CallTime hour(pace);
  EXPECT_LE(hour.Left(), 3600);
  EXPECT_GT(hour.Left(), 3000);
  EXPECT_FALSE(hour.IsOver());
  pace.max_seconds = 1e-9;
  const CallTime moment(pace);
  while (!moment.IsLate()) {
  }
  EXPECT_LT(moment.Left(), 0);
  EXPECT_TRUE(moment.IsOver());
}

TEST(SliceTest, PartsAreDisjointAndWhole) {
  EXPECT_TRUE(rc::check([] {
    const int count = *rc::gen::inRange(1, 12);
    std::vector<int> items(static_cast<size_t>(*rc::gen::inRange(0, 60)));
    std::iota(items.begin(), items.end(), 0);
    std::vector<int> all;
    for (int index = 1; index <= count; ++index) {
      const std::vector<int> part = TakeSlice({index, count}, items);
      RC_ASSERT(part.size() + 1 >= items.size() / static_cast<size_t>(count));
      all.insert(all.end(), part.begin(), part.end());
    }
    std::sort(all.begin(), all.end());
    RC_ASSERT(all == items);
  }));
}

TEST(SliceTest, ReadsItsText) {
  const auto slice = ParseSlice("2/4");
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->index, 2);
  EXPECT_EQ(slice->count, 4);
  for (const char* bad :
       {"", "/", "0/4", "5/4", "1/0", "-1/4", "1/4x", "a/b", "1", "1/99999999999"}) {
    EXPECT_EQ(ParseSlice(bad).error().code, ErrorCode::kUsage) << bad;
  }
}

}  // namespace

}  // namespace warpsmith::search
