#include "agent/forest.h"

#include <gtest/gtest.h>

namespace warpsmith::agent {
namespace {

// Two rollouts that stand on the first kernel; the first one's step led to a kernel of this gain.
class ForestTest : public testing::Test {
 protected:
  int WhereTheOtherStandsAfter(double log_gain) {
    Settings settings;
    settings.breadth = 2;
    Forest forest(settings, SelectionContext(), 1, std::nullopt);
    forest.Add(Node(), 0);
    forest.Advance();
    Node better;
    better.step = 1;
    better.parent = 0;
    better.score = better.worth = log_gain;
    forest.Add(better, 0);
    forest.Advance();
    EXPECT_EQ(forest.rollouts()[0].node, 1);
    return forest.rollouts()[1].node;
  }
};

TEST_F(ForestTest, ARolloutGoesItsOwnWayUntilItIsLeftBehind) {
  EXPECT_EQ(WhereTheOtherStandsAfter(0.5), 0);
  EXPECT_EQ(WhereTheOtherStandsAfter(3), 1) << "its own kernel takes twenty times as long";
}

}  // namespace
}  // namespace warpsmith::agent
