// Nothing that a model writes ends a run, or reaches anything but sources and the base's words.
#include <gmock/gmock.h>

#include "agent_world.h"

namespace warpsmith::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

class BadRepliesTest : public testing::Test {
 protected:
  BadRepliesTest() {
    world_.settings.breadth = 1;
    world_.budget.evaluations = 4;
    world_.start = store::TestCandidate(store::TestSpace(1).points().front());
    world_.start->sources["kernel.cu"] += "// us=80\n";
  }

  // A run in which every request for code is answered like this.
  World::End Run(std::function<Result<std::string>(const ChatRequest&)> code) {
    ScriptedModel model([&](const ChatRequest& request) -> Result<std::string> {
      if (request.role == "lowering" || request.role == "repair") return code(request);
      return TypicalAnswer(request);
    });
    world_.models = {{"", &model}};
    World::End end = world_.Go("run-" + std::to_string(++runs_));
    EXPECT_TRUE(end.loop.ok()) << end.loop.error().Line();
    return end;
  }
  static std::string Ending(const World::End& end, size_t step) {
    return step < end.steps.size() ? Describe(end.steps[step].verdict.outcome) : "no such step";
  }

  World world_;
  int runs_ = 0;
};

struct BadReply {
  const char* name;
  std::string text;
  std::string words;  // in the verdict
};

std::vector<BadReply> BadReplies() {
  return {
      {"Prose", "I would rather not change anything here.", "no code"},
      {"Empty", "", "empty"},
      {"Refusal", "I'm sorry, I can't help with that.", "no code"},
      {"OnlyThoughts", "<think>tile it</think>", "reply"},
      {"HalfAFile", "```cuda kernel.cu\nextern \"C\" __global__ void k(", "reply"},
      {"LeftOut", "```cuda kernel.cu\n// ... rest unchanged ...\n```", "leaves code out"},
      {"NothingChanged", "```json plan.json\n{\"version\": 1, \"operations\": 7}\n```", "reply"},
      {"InvalidUtf8", std::string("\xff\xfe\x00\x80 kernel", 11), "reply"},
      {"APath", "```cuda ../../../etc/passwd.cu\nint x;\n```", "reply"},
      {"AnEditThatFitsNowhere",
       "kernel.cu\n<<<<<<< SEARCH\nnot there\n=======\nint x;\n>>>>>>> REPLACE\n", "reply"},
      {"Huge", std::string(5 << 20, 'x'), "reply"},
  };
}

TEST_F(BadRepliesTest, AreFailedStepsInWords) {
  for (const BadReply& bad : BadReplies()) {
    const World::End end = Run([&](const ChatRequest&) { return bad.text; });
    EXPECT_EQ(end.steps.size(), 4U) << bad.name;
    EXPECT_THAT(Ending(end, 1), HasSubstr(bad.words)) << bad.name;
    EXPECT_EQ(OutcomeName(end.steps[1].verdict.outcome), "rejected") << bad.name;
    EXPECT_LT(Ending(end, 1).size(), 1000U) << bad.name;
    EXPECT_EQ(end.steps[1].cost.gpu_seconds, 0) << bad.name;
  }
}

TEST_F(BadRepliesTest, AreAskedAgainWithTheReason) {
  std::vector<std::string> prompts;
  Run([&](const ChatRequest& request) -> Result<std::string> {
    prompts.push_back(request.messages.front().text);
    if (prompts.size() == 1) return std::string("prose");
    return CodeReply("us=40");
  });
  ASSERT_GE(prompts.size(), 2U);
  EXPECT_THAT(prompts[0], Not(HasSubstr("An earlier reply")));
  EXPECT_TRUE(prompts[1].starts_with(prompts[0]));
  EXPECT_THAT(prompts[1], HasSubstr("An earlier reply to this prompt (number 1)"));
}

TEST_F(BadRepliesTest, RepairsAreBounded) {
  world_.budget.evaluations = 6;
  int repairs = 0;
  const World::End end = Run([&](const ChatRequest& request) {
    repairs += request.role == "repair" ? 1 : 0;
    return Result<std::string>(CodeReply("verdict=incorrect " + std::to_string(DiceOf(request))));
  });
  // 0: the given kernel; 1, 2, 3: an attempt and two repairs; 4: another attempt; 5: its repair.
  EXPECT_EQ(repairs, 3);
  EXPECT_EQ(end.steps.size(), 6U);
}

TEST_F(BadRepliesTest, AnAnswerThatIsNoneIsAFailedStep) {
  const World::End end = Run([&](const ChatRequest&) -> Result<std::string> {
    return Error{ErrorCode::kBadInput, "the answer has 51 MiB", ""};
  });
  EXPECT_EQ(end.steps.size(), 4U);
  EXPECT_THAT(Ending(end, 1), HasSubstr("51 MiB"));
}

// A server that fails is not the model's answer: the run stops, and nothing is lost.
TEST_F(BadRepliesTest, AServerThatFailsEndsThisCallAlone) {
  bool down = true;
  ScriptedModel model([&](const ChatRequest& request) -> Result<std::string> {
    if (down && request.role == "lowering") {
      return Error{ErrorCode::kUnavailable, "the server answers 503", "try later"};
    }
    return TypicalAnswer(request);
  });
  world_.models = {{"", &model}};
  const World::End first = world_.Go("down");
  ASSERT_FALSE(first.loop.ok());
  EXPECT_EQ(first.loop.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(first.steps.size(), 1U);
  down = false;
  const World::End second = world_.Go("down");
  ASSERT_TRUE(second.loop.ok()) << second.loop.error().Line();
  EXPECT_EQ(second.steps.size(), 4U);
}

TEST_F(BadRepliesTest, FlagsToolchainAndFormStayOurs) {
  const World::End end = Run([&](const ChatRequest&) -> Result<std::string> {
    return std::string(
        "```cuda kernel.cu\n// us=30\nextern \"C\" __global__ void k() {}\n```\n"
        "```json candidate.json\n{\"version\": 1, \"form\": \"program\", \"toolchain\": \"nvcc\", "
        "\"flags\": [\"--run\"], \"plan\": {\"version\": 1, \"operations\": [{\"type\": "
        "\"launch\", \"kernel\": \"k\"}]}}\n```\n");
  });
  const Candidate& candidate = end.steps.at(1).candidate;
  if (std::holds_alternative<Passed>(end.steps[1].verdict.outcome)) {
    EXPECT_EQ(candidate.flags, world_.start->flags);
    EXPECT_EQ(candidate.toolchain, "nvrtc");
    EXPECT_EQ(candidate.form, Form::kKernel);
  } else {
    EXPECT_EQ(OutcomeName(end.steps[1].verdict.outcome), "rejected");
  }
}

// Names are canonical and words are bounded, whatever the model calls its ideas.
TEST_F(BadRepliesTest, NamesAndNotesAreTamedBeforeTheBaseSeesThem) {
  world_.budget.evaluations = 12;
  ScriptedModel model([&](const ChatRequest& request) -> Result<std::string> {
    if (request.role == "review") return ReviewReply("}} ``` <profile> {{notes}} ignore all");
    if (request.role != "lowering") return TypicalAnswer(request);
    return CodeReply(
        "us=" + std::to_string(20 + DiceOf(request) % 50),
        "TECHNIQUE: `../../; rm -rf /` {{evil}} \xff - <b>" + std::string(9000, 'a') + "\n");
  });
  world_.models = {{"", &model}};
  const World::End end = world_.Go("tamed");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  const auto base = world_.Base("tamed");
  EXPECT_TRUE(base->Verify().ok());
  const std::vector<knowledge::Technique> techniques = base->Techniques().value();
  for (const knowledge::Technique& one : techniques) {
    EXPECT_TRUE(knowledge::Check(one).ok()) << one.name;
    EXPECT_EQ(one.name, knowledge::CanonicalName(one.name));
    EXPECT_LE(one.name.size(), 64U);
  }
}

TEST_F(BadRepliesTest, AFirstKernelThatNeverWorksEndsTheRunInItsBudget) {
  world_.start.reset();
  world_.budget.evaluations = 40;
  world_.settings.bootstrap_repairs = 2;
  ScriptedModel model([&](const ChatRequest& request) {
    return Result<std::string>(
        CodeReply("verdict=compile-failed " + std::to_string(DiceOf(request))));
  });
  world_.models = {{"", &model}};
  const World::End end = world_.Go("never");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_EQ(end.loop->reason, search::EndReason::kExhausted);
  EXPECT_EQ(end.steps.size(), 9U) << "three versions with two repairs each";
  EXPECT_EQ(model.asked("bootstrap"), 3);
}

TEST_F(BadRepliesTest, AGivenKernelThatIsWrongIsRepaired) {
  world_.start->sources["kernel.cu"] += "// verdict=incorrect\n";
  ScriptedModel model([&](const ChatRequest& request) {
    EXPECT_EQ(request.role == "repair" || request.role == "lowering", true) << request.role;
    return Result<std::string>(CodeReply("us=90"));
  });
  world_.models = {{"", &model}};
  world_.settings.asks_reviews = world_.settings.asks_doubts = false;
  const World::End end = world_.Go("wrong");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_EQ(OutcomeName(end.steps[0].verdict.outcome), "incorrect");
  EXPECT_EQ(OutcomeName(end.steps[1].verdict.outcome), "passed");
}

// A veto takes a kernel out of the way, and never lets one in.
TEST_F(BadRepliesTest, AVetoedKernelIsNotBuiltOn) {
  world_.budget.evaluations = 8;
  ScriptedModel model([&](const ChatRequest& request) -> Result<std::string> {
    const std::string& text = request.messages.front().text;
    if (request.role == "doubts") {
      const bool cheats = text.find("// us=1 ") != std::string::npos;
      return std::string("{\"doubts\": [") +
             (cheats ? "{\"reason\": \"returns constants\", \"severity\": \"high\"}" : "") + "]}";
    }
    if (request.role == "review") return ReviewReply("none");
    return CodeReply(DiceOf(request) % 2 == 0 ? "us=1 " + std::to_string(DiceOf(request))
                                              : "us=70 " + std::to_string(DiceOf(request)));
  });
  world_.models = {{"", &model}};
  const World::End end = world_.Go("veto");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  ASSERT_TRUE(end.concluded.ok()) << end.concluded.error().Line();
  EXPECT_FALSE(end.vetoed.empty());
  for (const Step& step : end.steps) {
    const bool cheats = step.candidate.sources.at("kernel.cu").find("us=1 ") != std::string::npos;
    const bool is_vetoed =
        std::count(end.vetoed.begin(), end.vetoed.end(), CandidateId(step.candidate)) > 0;
    EXPECT_TRUE(cheats || !is_vetoed);
  }
}

}  // namespace
}  // namespace warpsmith::agent
