// Whole runs: they go on exactly where they were, and replay without anybody being asked.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "agent/knowledge/knowledge_text.h"
#include "agent/models/recorded.h"
#include "agent/models/tests/exchange.h"
#include "agent_world.h"

namespace warpsmith::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Profile TwoKernels(double tensor_pct) {
  return {"ncu 2025.3",
          {{"first",
            {{"gpu__time_duration.sum", 60'000},
             {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 85},
             {"sm__throughput.avg.pct_of_peak_sustained_elapsed", tensor_pct}}},
           {"second", {{"gpu__time_duration.sum", 40'000}}}}};
}

class AgentRunTest : public testing::Test {
 protected:
  AgentRunTest() { world_.models = {{"", &model_}}; }

  // The knowledge that a run left behind, without the dates at which it was noted.
  std::string Knowledge(const std::string& name) const {
    knowledge::Contents contents = world_.Base(name)->Read().value();
    for (knowledge::Outcome& outcome : contents.outcomes) outcome.date.clear();
    return knowledge::ToText(contents);
  }

  ScriptedModel model_{TypicalAnswer};
  World world_;
};

TEST_F(AgentRunTest, WritesAFirstKernelAndImprovesIt) {
  const World::End end = world_.Go("a");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  ASSERT_TRUE(end.concluded.ok()) << end.concluded.error().Line();
  EXPECT_EQ(end.steps.size(), 16U);
  EXPECT_EQ(end.loop->reason, search::EndReason::kBudget);
  EXPECT_EQ(model_.asked("bootstrap"), 1);
  EXPECT_GT(model_.asked("lowering"), 5);
  EXPECT_GT(model_.asked("review"), 0);
  EXPECT_GT(end.loop->progress.best_ratio.value_or(0), 0.5);
  int64_t tokens = 0;
  for (const Step& step : end.steps) tokens += step.cost.tokens;
  EXPECT_GT(tokens, 0);
  EXPECT_LE(tokens, end.spent.tokens) << "the last reviews belong to no step";
  EXPECT_THAT(end.state_path, StartsWith("unknown > "));
}

// The heart of it: stopped after any step, by whatever, a run goes on as if it had not been.
TEST_F(AgentRunTest, GoesOnExactlyAfterAnyStep) {
  world_.budget.evaluations = 9;
  const World::End whole = world_.Go("whole");
  ASSERT_TRUE(whole.loop.ok()) << whole.loop.error().Line();
  const std::string knowledge = Knowledge("whole");
  EXPECT_THAT(knowledge, HasSubstr("run:run#"));
  const int asked = model_.asked(), judged = world_.device.judged();

  for (int64_t at = 0; at < 9; ++at) {
    const std::string name = "stopped-" + std::to_string(at);
    const World::End first = world_.Go(name, at);
    ASSERT_TRUE(first.loop.ok()) << first.loop.error().Line();
    ASSERT_LE(first.steps.size(), 9U);
    const World::End second = world_.Go(name);
    ASSERT_TRUE(second.loop.ok()) << at << ": " << second.loop.error().Line();
    ASSERT_EQ(TrajectoryText(second.steps), TrajectoryText(whole.steps)) << "stopped after " << at;
    EXPECT_EQ(second.memos, whole.memos) << "stopped after " << at;
    EXPECT_EQ(second.vetoed, whole.vetoed);
  }
  EXPECT_EQ(Knowledge("stopped-5"), knowledge);
  EXPECT_TRUE(world_.Base("stopped-5")->Verify().ok());
  EXPECT_EQ(model_.asked(), 10 * asked) << "nobody is asked twice";
  EXPECT_EQ(world_.device.judged(), 10 * judged) << "nothing is judged twice";
}

TEST_F(AgentRunTest, GoesOnInSmallPieces) {
  const World::End whole = world_.Go("whole");
  World::End end;
  for (int64_t at = 1; at <= 16; at += 3) end = world_.Go("pieces", at);
  end = world_.Go("pieces");
  EXPECT_EQ(TrajectoryText(end.steps), TrajectoryText(whole.steps));
}

// An exchange: every process finds the answers that were written since the last one.
TEST_F(AgentRunTest, WaitsForAnswersAndGoesOn) {
  const World::End whole = world_.Go("whole");
  std::set<std::string> answered, open;
  ScriptedModel exchange([&](const ChatRequest& request) -> Result<std::string> {
    const std::string id = RequestId(request);
    if (answered.contains(id)) return TypicalAnswer(request);
    open.insert(id);
    return Error{ErrorCode::kAwaiting, "an answer to " + id + " is awaited", "write it"};
  });
  world_.models = {{"", &exchange}};
  int rounds = 0;
  size_t most_at_once = 0;
  World::End end;
  while (true) {
    end = world_.Go("exchange");
    if (open.empty()) break;
    ASSERT_FALSE(end.loop.ok() && end.concluded.ok());
    const Error& error = end.loop.ok() ? end.concluded.error() : end.loop.error();
    ASSERT_EQ(error.code, ErrorCode::kAwaiting) << error.Line();
    EXPECT_THAT(error.message, HasSubstr(open.size() > 1 ? "answers are awaited" : "is awaited"));
    most_at_once = std::max(most_at_once, open.size());
    answered.merge(open);
    open.clear();
    ASSERT_LT(++rounds, 40);
  }
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_EQ(TrajectoryText(end.steps), TrajectoryText(whole.steps));
  EXPECT_EQ(end.memos, whole.memos);
  // One round of questions a generation: code, reviews and doubts are asked together.
  EXPECT_GE(most_at_once, 3U);
  EXPECT_LE(rounds, 12);
}

// The folder of the real exchange may be carried to another place.
TEST_F(AgentRunTest, AnExchangeFolderMayMove) {
  const auto answer_all = [](const std::filesystem::path& folder) {
    for (const models::AwaitedAnswer& one : models::AwaitedAnswers(folder)) {
      const auto request = ReadFile(one.request);
      // What a person would do; here the prompt's bytes decide.
      ChatRequest asked;
      asked.role = nlohmann::json::parse(request.value()).at("asker");
      asked.messages = {{"user", request.value()}};
      ASSERT_TRUE(WriteFileAtomic(one.answer, TypicalAnswer(asked).value()).ok());
    }
  };
  world_.budget.evaluations = 8;
  std::filesystem::path folder = world_.folder.path() / "first";
  Trajectory steps;
  for (int round = 0; round < 20; ++round) {
    const auto exchange = models::OpenExchange(folder).value();
    world_.models = {{"", exchange.get()}};
    const World::End end = world_.Go("moved");
    steps = end.steps;
    if (end.loop.ok() && end.concluded.ok()) break;
    const Error& error = end.loop.ok() ? end.concluded.error() : end.loop.error();
    ASSERT_EQ(error.code, ErrorCode::kAwaiting) << error.Line();
    answer_all(folder);
    const std::filesystem::path elsewhere =
        world_.folder.path() / ("place-" + std::to_string(round));
    std::filesystem::rename(folder, elsewhere);
    folder = elsewhere;
  }
  EXPECT_EQ(steps.size(), 8U);
}

TEST_F(AgentRunTest, ReplaysBitForBitWithNobodyToAsk) {
  world_.take_profile = [](const Candidate& candidate) -> Result<Profile> {
    return TwoKernels(static_cast<double>(CodeLength(candidate) % 50));
  };
  world_.documents = [](const std::string&) -> Result<std::string> {
    return std::string("tiling.md, line 1");
  };
  const World::End real = world_.Go("real");
  ASSERT_TRUE(real.loop.ok()) << real.loop.error().Line();
  const int asked = model_.asked();

  world_.recorded = real.memos;
  world_.models = {};
  world_.take_profile = {};
  world_.documents = {};
  world_.keeps_knowledge = false;
  world_.run = "another-name";
  const World::End replay = world_.Go("replay");
  ASSERT_TRUE(replay.loop.ok()) << replay.loop.error().Line();
  ASSERT_TRUE(replay.concluded.ok()) << replay.concluded.error().Line();
  EXPECT_EQ(TrajectoryText(replay.steps), TrajectoryText(real.steps));
  EXPECT_EQ(replay.memos, real.memos);
  EXPECT_EQ(replay.state_path, real.state_path);
  EXPECT_EQ(model_.asked(), asked);
}

TEST_F(AgentRunTest, AReplayRefusesWhatWasNeverAsked) {
  const World::End real = world_.Go("real");
  world_.recorded = real.memos;
  world_.budget.evaluations = 40;
  const World::End replay = world_.Go("replay");
  ASSERT_FALSE(replay.loop.ok());
  EXPECT_EQ(replay.loop.error().code, ErrorCode::kNotRecorded);
  EXPECT_GE(replay.steps.size(), 16U);
}

TEST_F(AgentRunTest, ALargerBudgetGoesOnWithTheSameSteps) {
  world_.budget.evaluations = 7;
  world_.Go("grown");
  world_.budget.evaluations = 16;
  const World::End grown = world_.Go("grown");
  const World::End whole = world_.Go("whole");
  EXPECT_EQ(TrajectoryText(grown.steps), TrajectoryText(whole.steps));
}

TEST_F(AgentRunTest, RefusesToGoOnWithOtherSettings) {
  world_.Go("a", 3);
  world_.settings.top_k = 1;
  world_.settings.repairs = 0;
  const World::End end = world_.Go("a");
  ASSERT_FALSE(end.loop.ok());
  EXPECT_EQ(end.loop.error().code, ErrorCode::kConfig);
  EXPECT_THAT(end.loop.error().message, HasSubstr("other settings"));
}

TEST_F(AgentRunTest, BeginsWithAGivenKernel) {
  world_.start = store::TestCandidate(store::TestSpace(1).points().front());
  world_.start->sources["kernel.cu"] += "// us=80\n";
  const World::End end = world_.Go("a");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_EQ(model_.asked("bootstrap"), 0);
  EXPECT_EQ(CandidateId(end.steps[0].candidate), CandidateId(*world_.start));
  EXPECT_EQ(end.steps[1].candidate.provenance.parent, CandidateId(*world_.start));
}

// Two kernels: what is known of each is told apart, and fusing them is one of the options.
TEST_F(AgentRunTest, NamesTheStateOfEveryKernel) {
  world_.take_profile = [](const Candidate&) -> Result<Profile> { return TwoKernels(10); };
  std::set<std::string> targets;
  ScriptedModel model([&](const ChatRequest& request) {
    const std::string& text = request.messages.front().text;
    const size_t at = text.find("Where: ");
    if (request.role == "lowering" && at != text.npos) {
      targets.insert(text.substr(at + 7, text.find(". Expected", at) - at - 7));
    }
    return TypicalAnswer(request);
  });
  world_.models = {{"", &model}};
  world_.budget.evaluations = 40;
  const World::End end = world_.Go("a");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_GT(model.asked("state"), 0) << "the second kernel has no counters";
  EXPECT_TRUE(targets.contains("kernel 1 \"first\"")) << testing::PrintToString(targets);
  EXPECT_TRUE(targets.contains("kernels 1 and 2, made into one"))
      << testing::PrintToString(targets);
  const std::string knowledge = Knowledge("a");
  EXPECT_THAT(knowledge, HasSubstr("\"brand-new-state\""));
  EXPECT_THAT(knowledge, HasSubstr("\"origin\":\"discovered\""));
}

}  // namespace
}  // namespace warpsmith::agent
