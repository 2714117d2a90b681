#include "search/spending.h"

#include <gtest/gtest.h>

namespace warpsmith::search {
namespace {

Cost Gpu(double seconds) { return {1, seconds, seconds, 0, 0}; }

TEST(SpendingTest, CountsWhatIsUnderWayAgainstEvaluations) {
  Budget budget;
  budget.evaluations = 3;
  Spending spending(budget);
  EXPECT_FALSE(spending.StopsStart(2).has_value());
  EXPECT_EQ(spending.StopsStart(3), "evals");
  spending.Add(Gpu(1));
  EXPECT_FALSE(spending.StopsStart(1).has_value());
  EXPECT_EQ(spending.StopsStart(2), "evals");
  spending.Add(Gpu(1));
  spending.Add(Gpu(1));
  EXPECT_EQ(spending.StopsStart(0), "evals");
  EXPECT_EQ(spending.StopsCommit(Gpu(0)), "evals");
}

TEST(SpendingTest, StartsOneAtATimeUntilItKnowsTheCost) {
  Budget budget;
  budget.gpu_seconds = 10;
  Spending spending(budget);
  EXPECT_FALSE(spending.StopsStart(0).has_value());
  EXPECT_TRUE(spending.StopsStart(1).has_value());
  spending.Add(Gpu(2));
  EXPECT_FALSE(spending.StopsStart(3).has_value());  // 2 + 4 * 2 = 10
  EXPECT_EQ(spending.StopsStart(4), "gpu");
}

TEST(SpendingTest, StopsBeforePassingALimit) {
  Budget budget;
  budget.gpu_seconds = 5;
  Spending spending(budget);
  spending.Add(Gpu(2));
  EXPECT_FALSE(spending.StopsCommit(Gpu(3)).has_value());
  EXPECT_EQ(spending.StopsCommit(Gpu(3.5)), "gpu");
  spending.Add(Gpu(2));
  EXPECT_EQ(spending.StopsStart(0), "gpu");        // would come to 6
  EXPECT_EQ(spending.StopsCommit(Gpu(1)), "gpu");  // would not have been started
  EXPECT_FALSE(spending.StopsCommit(Gpu(0)).has_value());
}

TEST(SpendingTest, WallTimeStopsStartsOnly) {
  Budget budget;
  budget.wall_seconds = 3;
  Spending spending(budget);
  spending.Add(Gpu(2));
  EXPECT_EQ(spending.StopsStart(0), "time");
  EXPECT_FALSE(spending.StopsCommit(Gpu(5)).has_value());  // it has been measured: keep it
}

}  // namespace
}  // namespace warpsmith::search
