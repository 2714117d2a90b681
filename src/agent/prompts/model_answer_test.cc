#include "agent/prompts/model_answer.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "task/hgemm_task.h"

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

using nlohmann::json;
using testing::HasSubstr;

const json kPlan = {
    {"operations", json::array({{{"type", "launch"},
                                 {"kernel", "k"},
                                 {"grid", {1, 1, 1}},
                                 {"block", {32, 1, 1}},
                                 {"arguments", json::array({{{"tensor", "A"}}})}}})}};

Candidate Base() {
  Candidate base;
  base.sources = {{"k.cu", "int a = 1;\nint b = 2;\n"}, {"h.cuh", "#pragma once\n"}};
  base.entry = "k.cu";
  base.flags = {"-DTILE=4"};
  LaunchOperation launch;
  launch.kernel = "base";
  base.plan.operations = {launch};
  base.provenance.technique = "tiling";
  return base;
}

Result<Candidate> From(const json& arguments, const Candidate* base = nullptr) {
  return CandidateFromArguments(JsonReader("evaluate_candidate", arguments), task::HgemmTask("TN"),
                                base);
}
std::string Refusal(const json& arguments, const Candidate* base = nullptr) {
  const auto made = From(arguments, base);
  return made.ok() ? "" : made.error().Line();
}

TEST(CandidateFromArguments, MakesAKernelOfSourcesAndAPlan) {
  const Candidate made =
      From({{"sources", {{"mine.cu", "text"}, {"x.cuh", "more"}}}, {"plan", kPlan}}).value();
  EXPECT_EQ(made.entry, "mine.cu");
  EXPECT_EQ(made.toolchain, "nvrtc");
  EXPECT_TRUE(made.flags.empty());
  EXPECT_EQ(std::get<LaunchOperation>(made.plan.operations.at(0)).kernel, "k");
}

TEST(CandidateFromArguments, ChangesABaseThatKeepsItsFlagsAndPlan) {
  const Candidate base = Base();
  const Candidate made =
      From(
          {{"sources", {{"new.cuh", "x"}}},
           {"remove", {"h.cuh"}},
           {"edits", json::array({{{"file", "k.cu"}, {"search", "b = 2"}, {"replace", "b = 3"}}})}},
          &base)
          .value();
  EXPECT_EQ(made.sources.at("k.cu"), "int a = 1;\nint b = 3;\n");
  EXPECT_EQ(made.sources.count("h.cuh"), 0U);
  EXPECT_EQ(made.sources.count("new.cuh"), 1U);
  EXPECT_EQ(made.flags, base.flags);
  EXPECT_EQ(std::get<LaunchOperation>(made.plan.operations.at(0)).kernel, "base");
  EXPECT_EQ(made.provenance.parent, CandidateId(base));
  EXPECT_EQ(made.provenance.technique, "");
}

TEST(CandidateFromArguments, NamesAreNeverPaths) {
  for (const char* name :
       {"../k.cu", "/etc/k.cu", "a/k.cu", ".k.cu", "k", "k.sh", "-k.cu", "", "k.cu\n"}) {
    EXPECT_NE(Refusal({{"sources", {{name, "text"}}}, {"plan", kPlan}}), "") << name;
  }
}

TEST(CandidateFromArguments, SaysWhatIsMissingOrOff) {
  const Candidate base = Base();
  const json sources = {{"k.cu", "text"}};
  EXPECT_THAT(Refusal(json::object()), HasSubstr("no source"));
  EXPECT_THAT(Refusal({{"sources", sources}}), HasSubstr("needs a launch plan"));
  EXPECT_THAT(Refusal({{"sources", {{"a.cu", ""}, {"b.cu", ""}}}, {"plan", kPlan}}),
              HasSubstr("\"entry\""));
  EXPECT_THAT(Refusal({{"sources", sources}, {"plan", kPlan}, {"entry", "x.cu"}}),
              HasSubstr("entry"));
  EXPECT_THAT(Refusal({{"sources", sources}, {"plan", "launch it"}}), HasSubstr("launch plan"));
  EXPECT_THAT(Refusal({{"sources", sources}, {"form", "program"}}), HasSubstr("only kernels"));
  EXPECT_THAT(Refusal({{"sources", {{"k.cu", 4}}}, {"plan", kPlan}}), HasSubstr("k.cu"));
  EXPECT_THAT(Refusal({{"remove", {"x.cu"}}}, &base), HasSubstr("remove"));
  EXPECT_THAT(
      Refusal({{"edits", json::array({{{"file", "k.cu"}, {"search", "int"}, {"replace", ""}}})}},
              &base),
      HasSubstr("k.cu"));
  EXPECT_THAT(Refusal({{"sources", {{"k.cu", std::string(600'000, 'x')}}}, {"plan", kPlan}}),
              HasSubstr("longer than"));
  json many = json::object();
  for (int i = 0; i < 20; ++i) many["f" + std::to_string(i) + ".cuh"] = "";
  EXPECT_THAT(Refusal({{"sources", many}}, &base), HasSubstr("at most 16"));
}

}  // namespace

}  // namespace warpsmith::prompts
