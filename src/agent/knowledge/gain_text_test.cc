#include "agent/knowledge/gain_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace warpsmith::knowledge {
namespace {

TEST(GainText, HasThreeDigits) {
  EXPECT_EQ(RatioText(1.0832), "1.08x");
  EXPECT_EQ(GainText(std::log(1.0832)), "1.08x");
  EXPECT_EQ(GainText(0), "1x");
  EXPECT_EQ(GainText(-std::log(250)), "0.004x");
}

}  // namespace
}  // namespace warpsmith::knowledge
