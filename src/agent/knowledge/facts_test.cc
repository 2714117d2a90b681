#include "agent/knowledge/facts.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "agent/knowledge/tests/contents.h"

namespace warpsmith::knowledge {
namespace {

using testing::HasSubstr;

TEST(CanonicalName, OfWhatModelsWrite) {
  EXPECT_EQ(CanonicalName("Memory Bound / Uncoalesced"), "memory-bound/uncoalesced");
  EXPECT_EQ(CanonicalName("  split-K (v2.1)!"), "split-k-v2.1");
  EXPECT_EQ(CanonicalName("../../etc/passwd"), "etc/passwd");
  EXPECT_EQ(CanonicalName("a//b"), "a/b");
  EXPECT_EQ(CanonicalName("\xff\xfe"), "");
}

RC_GTEST_PROP(CanonicalName, IsTheSameOnItsOwnResult, (const std::string& text)) {
  const std::string name = CanonicalName(text);
  RC_ASSERT(CanonicalName(name) == name);
}

TEST(CoarserState, DropsTheLastLevel) {
  EXPECT_EQ(CoarserState("a/b"), "a");
  EXPECT_EQ(CoarserState("a"), "");
}

TEST(Check, TakesWhatIsInBounds) {
  EXPECT_TRUE(Check(TestOutcome(-0.5)).ok());
  EXPECT_TRUE(Check(TestFailure(Failure::kHang)).ok());
  EXPECT_TRUE(Check(Note{"", "", "text", "person", ""}).ok());
}

TEST(Check, RefusesAGainBesideAFailureAndNeither) {
  Outcome both = TestOutcome(0.1);
  both.failure = Failure::kHang;
  EXPECT_THAT(Check(both).error().message, HasSubstr("either a gain or a failure"));
  Outcome neither = TestOutcome(0.1);
  neither.log_gain.reset();
  EXPECT_EQ(Check(neither).error().code, ErrorCode::kBadInput);
}

TEST(Check, RefusesGainsThatAreNoGains) {
  EXPECT_FALSE(Check(TestOutcome(std::numeric_limits<double>::quiet_NaN())).ok());
  EXPECT_FALSE(Check(TestOutcome(std::numeric_limits<double>::infinity())).ok());
  EXPECT_FALSE(Check(TestOutcome(10.1)).ok());
}

TEST(Check, RefusesNamesAndTextThatCouldDoHarm) {
  EXPECT_FALSE(Check(State{"Not Canonical", Origin::kKnown, ""}).ok());
  EXPECT_FALSE(Check(State{"", Origin::kKnown, ""}).ok());
  EXPECT_FALSE(Check(State{std::string(200, 'a'), Origin::kKnown, ""}).ok());
  EXPECT_FALSE(Check(Technique{"a", "\xff", ""}).ok());
  EXPECT_FALSE(Check(Note{"", "", std::string(1 << 20, 'x'), "", ""}).ok());
  EXPECT_FALSE(Check(Note{"", "", "", "", ""}).ok());
  EXPECT_FALSE(Check(Prior{"a", "b", 0, 0, -1, 0.5, ""}).ok());
}

TEST(FailureFromName, IsTheInverseOfName) {
  for (size_t i = 0; i < kFailures; ++i) {
    EXPECT_EQ(FailureFromName(Name(static_cast<Failure>(i))), static_cast<Failure>(i));
  }
  EXPECT_EQ(FailureFromName("bored"), std::nullopt);
}

TEST(Tally, MeanAndVarianceOfThree) {
  Tally tally;
  for (const double gain : {0.1, 0.2, 0.3}) tally = tally + TallyOf(TestOutcome(gain));
  tally = tally + TallyOf(TestFailure(Failure::kHang));
  EXPECT_NEAR(MeanLogGain(tally), 0.2, 1e-12);
  EXPECT_NEAR(VarianceLogGain(tally), 0.01, 1e-12);
  EXPECT_EQ(Attempts(tally), 4);
  EXPECT_EQ(Failed(tally), 1);
}

}  // namespace
}  // namespace warpsmith::knowledge
