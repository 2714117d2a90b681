#include "agent/knowledge/facts.h"

#include <limits>

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/posterior.h"
#include "agent/knowledge/tests/contents.h"
#include "base/compression.h"

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

using testing::HasSubstr;
using testing::StartsWith;

Contents Both(const Contents& a, const Contents& b) { return Merged(a, b).value(); }

RC_GTEST_PROP(Merged, WithItselfChangesNothing, (uint64_t seed)) {
  const Contents base = DrawnContents(seed);
  RC_ASSERT(ToText(Both(base, base)) == ToText(base));
}

RC_GTEST_PROP(Merged, InAnyOrderAndGrouping, (uint64_t x, uint64_t y, uint64_t z)) {
  const Contents a = DrawnContents(x), b = DrawnContents(y), c = DrawnContents(z);
  RC_ASSERT(ToText(Both(a, b)) == ToText(Both(b, a)));
  RC_ASSERT(ToText(Both(Both(a, b), c)) == ToText(Both(a, Both(b, c))));
  RC_ASSERT(StatisticsOf(Both(Both(a, b), c).outcomes) ==
            StatisticsOf(Both(a, Both(b, c)).outcomes));
}

TEST(Merged, CountsSharedEvidenceOnce) {
  Contents a, b;
  a.outcomes = {TestOutcome(0.1, 1), TestOutcome(0.2, 2)};
  b.outcomes = {TestOutcome(0.2, 2), TestOutcome(0.3, 3)};
  b.outcomes[0].date = "2026-02-02T00:00:00Z";
  const Contents both = Both(a, b);
  ASSERT_EQ(both.outcomes.size(), 3U);
  EXPECT_EQ(both.outcomes[1].date, "2026-01-01T00:00:00Z");
  EXPECT_EQ(StatisticsOf(both.outcomes).begin()->second.measured, 3);
}

TEST(Merged, RefusesEvidenceThatIsToldInTwoWays) {
  Contents a, b;
  a.outcomes = {TestOutcome(0.1)};
  b.outcomes = {TestFailure(Failure::kHang)};
  const auto merged = Merged(a, b);
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(merged.error().message, HasSubstr("run:run#0"));
}

TEST(Merged, KnownStaysKnown) {
  Contents a, b;
  a.states = {{"tail", Origin::kDiscovered, "a"}};
  b.states = {{"tail", Origin::kKnown, "b"}};
  EXPECT_EQ(Both(a, b).states, b.states);
}

RC_GTEST_PROP(ContentsFromText, ReadsWhatToTextWrites, (uint64_t seed)) {
  const std::string text = ToText(DrawnContents(seed));
  RC_ASSERT(ToText(ContentsFromText("kb", text).value()) == text);
  RC_ASSERT(ToText(ContentsFromText("kb", Compress(text)).value()) == text);
}

RC_GTEST_PROP(ContentsFromText, RefusesWhatWasCutAtTheEndOfALine, (uint64_t seed)) {
  const std::string text = ToText(DrawnContents(seed));
  for (size_t end = text.find('\n'); end + 1 < text.size(); end = text.find('\n', end + 1)) {
    RC_ASSERT(!ContentsFromText("kb", text.substr(0, end + 1)).ok());
  }
}

TEST(ContentsFromText, RefusesAFirstLineThatTellsHalf) {
  const std::string text = ToText({{}, {}, {}, {TestOutcome(0.5)}, {}});
  const std::string rest = text.substr(text.find('\n'));
  const std::string digest = text.substr(text.find("\"sha256\""), 75);
  EXPECT_TRUE(ContentsFromText("kb", "{\"warpsmith_knowledge\":1}" + rest).ok());
  for (const std::string& half : {std::string("\"lines\":1"), digest}) {
    const auto read = ContentsFromText("kb", "{" + half + ",\"warpsmith_knowledge\":1}" + rest);
    ASSERT_FALSE(read.ok()) << half;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
  }
}

Error ErrorOf(std::string_view lines) {
  auto read = ContentsFromText("kb", "{\"warpsmith_knowledge\":1}\n" + std::string(lines));
  return read.ok() ? Error{} : read.error();
}

TEST(Merged, ANameAloneTakesNoDescriptionAway) {
  const Technique documented{"split-k", "Let blocks share K.", "a guide"};
  const std::string model(kModelSource);
  for (const Technique& other :
       {Technique{"split-k", "", model}, Technique{"split-k", "A shorter loop.", model}}) {
    Contents a, b;
    a.techniques = {documented};
    b.techniques = {other};
    EXPECT_EQ(Both(a, b).techniques, a.techniques);
    EXPECT_EQ(Both(b, a).techniques, a.techniques);
  }
  Contents a, b;
  a.techniques = {{"own", "", model}};
  b.techniques = {{"own", "said at last", model}};
  EXPECT_EQ(Both(a, b).techniques, b.techniques);
  a.states = {{"tail", Origin::kDiscovered, ""}};
  b.states = {{"tail", Origin::kDiscovered, "the last wave"}};
  EXPECT_EQ(Both(a, b).states, b.states);
}

TEST(ContentsFromText, RefusesOtherVersionsAndOtherFiles) {
  EXPECT_EQ(ContentsFromText("kb", "{\"warpsmith_knowledge\":2}").error().code,
            ErrorCode::kVersion);
  EXPECT_THAT(ContentsFromText("kb", "").error().message, HasSubstr("no warpsmith knowledge"));
  EXPECT_THAT(ContentsFromText("kb", "{\"a\":1}").error().message, HasSubstr("no warpsmith"));
  EXPECT_EQ(ContentsFromText("kb", "\x28\xb5\x2f\xfd garbage").error().code, ErrorCode::kBadInput);
}

TEST(ContentsFromText, NamesTheLineThatIsOff) {
  EXPECT_THAT(ErrorOf("\n{\"kind\":\"stat\"}").message, StartsWith("kb:3: kind"));
  EXPECT_THAT(ErrorOf("{\"kind\":\"state\",\"name\":\"A B\",\"origin\":\"known\","
                      "\"description\":\"\"}")
                  .message,
              StartsWith("kb:2: state \"A B\""));
  EXPECT_THAT(ErrorOf("{\"kind\":\"note\",\"extra\":1}").message, HasSubstr("extra"));
  EXPECT_THAT(ErrorOf("{\"kind\":").message, StartsWith("kb:2"));
}

TEST(ContentsFromText, RefusesFailuresAndGainsThatAreNone) {
  const std::string line = ToText({{}, {}, {}, {TestOutcome(0.5)}, {}});
  const auto with = [&](const std::string& value) {
    std::string text = "{\"warpsmith_knowledge\":1}\n" + line.substr(line.find('\n') + 1);
    text.replace(text.find("\"log_gain\":0.5"), 14, value);
    return ContentsFromText("kb", text);
  };
  EXPECT_TRUE(with("\"log_gain\":0.25").ok());
  EXPECT_FALSE(with("\"log_gain\":\"nan\"").ok());
  EXPECT_FALSE(with("\"log_gain\":1e300").ok());
  EXPECT_FALSE(with("\"failure\":\"bored\"").ok());
  EXPECT_FALSE(with("\"failure\":\"hang\",\"log_gain\":0.5").ok());
}

TEST(Differences, OfABaseAndItselfAreNone) {
  const Contents base = DrawnContents(5);
  EXPECT_TRUE(Empty(Differences(base, base)));
}

TEST(Differences, NameWhatChanged) {
  Contents before, after;
  before.states = {{"barrier", Origin::kKnown, "a"}, {"tail", Origin::kKnown, "a"}};
  after.states = {{"barrier", Origin::kKnown, "b"}, {"launch-bound", Origin::kKnown, "a"}};
  before.outcomes = {TestOutcome(0, 1)};
  after.outcomes = {TestOutcome(0, 1), TestOutcome(0, 2), TestFailure(Failure::kCrash, 3)};
  after.notes = {{"", "", "text", "person", ""}};
  const Difference difference = Differences(before, after);
  EXPECT_EQ(difference.states, (NameChanges{{"tail"}, {"launch-bound"}, {"barrier"}}));
  EXPECT_EQ(difference.outcomes_shared, 1);
  EXPECT_EQ(DifferenceText(difference),
            "- state tail\n+ state launch-bound\n~ state barrier\n"
            "~ statistics memory-latency + fusion on sm_90a, f16, nvrtc 13.0: 1 measured, mean 1x, "
            "0 failed -> 2 measured, mean 1x, 1 failed\n+ 2 outcomes\n+ 1 notes\n");
}

}  // namespace

}  // namespace warpsmith::knowledge
