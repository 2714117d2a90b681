#include "core/step_reference.h"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(StepReferenceTest, ReadsWhatItWrites) {
  for (const StepReference& reference : {StepReference{"softmax", 0}, {"a#b/certify-1", 12}}) {
    const auto read = StepReferenceFrom(TextOf(reference));
    ASSERT_TRUE(read.has_value()) << TextOf(reference);
    EXPECT_EQ(read->run, reference.run);
    EXPECT_EQ(read->index, reference.index);
  }
  EXPECT_EQ(TextOf({"softmax", 3}), "run:softmax#3");
}

TEST(StepReferenceTest, TakesNothingElseForAStep) {
  for (const char* text : {"", "run:", "run:a", "run:a#", "run:a#-1", "run:a#1x", "a#1",
                           "verdict:a#1", "run:a#99999999999999999999"}) {
    EXPECT_FALSE(StepReferenceFrom(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace warpsmith
