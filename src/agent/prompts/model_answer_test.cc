#include "agent/prompts/model_answer.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::prompts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kStates =
    "```json\n{\"states\": [{\"kernel\": 2, \"state\": \"memory-latency\", \"secondary\": null,\n"
    " \"confidence\": 0.8, \"evidence\": [\"long scoreboard 61 %\"]}]}\n```\n";

template <typename T>
std::string WhyNotAnswer(const Result<T>& result) {
  return result.ok() ? "it is one" : result.error().message;
}

TEST(ModelAnswer, ReadsStatesFromAFenceOrFromProse) {
  for (const std::string& reply :
       {std::string(kStates), "<think>{\"states\": []}</think>\nSure:\n" + std::string(kStates),
        std::string("It waits. {\"states\": [{\"kernel\": 2, \"state\": \"memory-latency\", "
                    "\"confidence\": 0.8, \"evidence\": [\"long scoreboard 61 %\"]}]} Done.")}) {
    const auto states = ReadStates(reply, 2).value();
    ASSERT_EQ(states.size(), 1u);
    EXPECT_EQ(states.front().kernel, 1u);
    EXPECT_EQ(states.front().state, "memory-latency");
    EXPECT_EQ(states.front().secondary, "");
    EXPECT_EQ(states.front().confidence, 0.8);
    EXPECT_THAT(states.front().evidence, ElementsAre("long scoreboard 61 %"));
  }
}

TEST(ModelAnswer, RefusesStatesThatCannotBe) {
  EXPECT_THAT(WhyNotAnswer(ReadStates(kStates, 1)), HasSubstr("states[0].kernel"));
  EXPECT_THAT(WhyNotAnswer(ReadStates("{\"states\": []}", 1)), HasSubstr("at least one state"));
  EXPECT_THAT(WhyNotAnswer(ReadStates("{\"states\": [{\"kernel\": 1, \"state\": \"../x\"}]}", 1)),
              HasSubstr("a state's name"));
  EXPECT_THAT(
      WhyNotAnswer(ReadStates(
          "{\"states\": [{\"kernel\": 1, \"state\": \"tail\", \"confidence\": \"nan\"}]}", 1)),
      HasSubstr("from 0 to 1"));
  const std::string one = "{\"kernel\": 1, \"state\": \"tail\", \"confidence\": 1}";
  EXPECT_THAT(WhyNotAnswer(ReadStates("{\"states\": [" + one + "," + one + "]}", 1)),
              HasSubstr("each kernel once"));
  EXPECT_EQ(WhyNotAnswer(ReadStates("I cannot tell.", 1)), "the answer has no JSON object");
  EXPECT_EQ(WhyNotAnswer(ReadStates("```json\n{\"states\": [", 1)),
            "the answer ends inside a block");
}

TEST(ModelAnswer, KnowsTheNamesOfStates) {
  EXPECT_TRUE(IsStateName("l2-bandwidth"));
  for (const char* name :
       {"", "-a", "a-", "a--b", "A", "a_b", "a/b", "ein-zu-langer-name-fuer-einen-zustand-hier"}) {
    EXPECT_FALSE(IsStateName(name)) << name;
  }
}

TEST(ModelAnswer, ReadsGapsDoubtsAndNotes) {
  const auto gap =
      ReadGapAnalysis("{\"cause\": \"L2\\nhits\", \"verdict\": \"noise\", \"next\": null}").value();
  EXPECT_EQ(gap.cause, "L2?hits");
  EXPECT_THAT(WhyNotAnswer(ReadGapAnalysis("{\"cause\": \"x\", \"verdict\": \"good\"}")),
              HasSubstr("one of technique-wrong-here"));

  const auto doubts =
      ReadDoubts(
          "{\"approved\": true, \"doubts\": [{\"reason\": \"skips odd rows\", \"severity\": "
          "\"high\"}]}")
          .value();
  EXPECT_EQ(doubts.front().reason, "skips odd rows");
  EXPECT_TRUE(ReadDoubts("{\"doubts\": []}").ok());
  EXPECT_FALSE(ReadDoubts("{\"approved\": true}").ok());

  const auto note = ReadNote("{\"note\": \"Pad rows.\", \"when\": \"K < 128\"}").value();
  EXPECT_EQ(note.when, "K < 128");
  EXPECT_THAT(WhyNotAnswer(ReadNote("{\"note\": \" \"}")), HasSubstr("a sentence"));
}

RC_GTEST_PROP(ModelAnswer, AnyBytesAreAnAnswerOrALine, (const std::string& bytes)) {
  for (const std::string& reply : {bytes, "{" + bytes + "}", "{\"note\": \"" + bytes + "\"}"}) {
    const auto note = ReadNote(reply);
    const std::string text = note.ok() ? note->note : note.error().message;
    RC_ASSERT(!text.empty() && text.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace warpsmith::prompts
