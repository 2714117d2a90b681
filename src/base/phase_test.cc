#include "base/phase.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace warpsmith {
namespace {

TEST(Phase, CountsItsTimeWithoutThoseInside) {
  const auto work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  {
    const Phase whole("phase test");
    for (int i = 0; i < 2; ++i) {
      const Phase outer("bursts");
      const Phase inner("expected");
      work();
    }
    const Phase last("checks");
    work();
  }
  auto seconds = PhaseSeconds();
  EXPECT_GE((seconds[{"phase test", "expected"}]), 0.04);
  EXPECT_GE((seconds[{"phase test", "checks"}]), 0.02);
  EXPECT_LT((seconds[{"phase test", "bursts"}]), 0.02);
  EXPECT_LT((seconds[{"phase test", "other"}]), 0.02);
  EXPECT_GT((seconds[{"phase test", "other"}]), 0);
}

}  // namespace
}  // namespace warpsmith
