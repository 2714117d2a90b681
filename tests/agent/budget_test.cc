// Budgets hold, and switches switch what they say.
#include <gmock/gmock.h>

#include "agent/documents.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent_world.h"

namespace warpsmith::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

class AgentBudgetTest : public testing::Test {
 protected:
  AgentBudgetTest() { world_.models = {{"", &model_}}; }

  // Every prompt of these roles, in the order in which they came.
  World::End RunKeepingPrompts(const std::string& name) {
    ScriptedModel model([this](const ChatRequest& request) {
      prompts_[request.role].push_back(request.messages.front().text);
      return TypicalAnswer(request);
    });
    world_.models = {{"", &model}};
    World::End end = world_.Go(name);
    EXPECT_TRUE(end.loop.ok()) << end.loop.error().Line();
    return end;
  }

  ScriptedModel model_{TypicalAnswer};
  World world_;
  std::map<std::string, std::vector<std::string>> prompts_;
};

TEST_F(AgentBudgetTest, TokensAreNeverPassed) {
  world_.settings.sampling.max_tokens = 500;
  for (const int64_t tokens : {0, 1'000, 20'000, 30'000}) {
    world_.budget.tokens = tokens;
    const World::End end = world_.Go("tokens-" + std::to_string(tokens));
    ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
    EXPECT_LE(end.spent.tokens, tokens);
    EXPECT_EQ(end.limit.value_or("none"), "tokens");
    EXPECT_EQ(end.loop->reason, search::EndReason::kExhausted);
  }
}

TEST_F(AgentBudgetTest, MoneyIsNeverPassed) {
  world_.settings.sampling.max_tokens = 500;
  world_.price = [](const std::string& role, const ChatUsage& usage) -> std::optional<double> {
    const double each = role == "lowering" ? 1e-3 : 1e-4;
    return each * static_cast<double>(usage.prompt_tokens + usage.completion_tokens);
  };
  world_.budget.money = 20;
  const World::End end = world_.Go("money");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_LE(end.spent.money, 20);
  EXPECT_GT(end.spent.money, 5) << "it is used, too";
  EXPECT_EQ(end.limit.value_or("none"), "money");
  double of_steps = 0;
  for (const Step& step : end.steps) of_steps += step.cost.money;
  EXPECT_GT(of_steps, 0);
  EXPECT_LE(of_steps, end.spent.money + 1e-9);
}

TEST_F(AgentBudgetTest, ALargerBudgetOfTokensGoesOnWithTheSameSteps) {
  world_.settings.sampling.max_tokens = 500;
  world_.budget.evaluations = 10;
  const World::End whole = world_.Go("whole");
  world_.budget.tokens = whole.spent.tokens / 2;
  const World::End half = world_.Go("half");
  EXPECT_LT(half.steps.size(), whole.steps.size());
  world_.budget.tokens = Budget().tokens;
  // Reviews that did not fit before are asked now, and charged to no step of that time.
  EXPECT_EQ(TrajectoryText(world_.Go("half").steps, Costs::kLeftOut),
            TrajectoryText(whole.steps, Costs::kLeftOut));
}

TEST_F(AgentBudgetTest, GpuSecondsHold) {
  world_.budget.gpu_seconds = 1.3;  // a verdict takes 0.25
  const World::End end = world_.Go("gpu");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_EQ(end.loop->limit, "gpu");
  EXPECT_LE(end.loop->progress.spent.gpu_seconds, 1.3);
}

TEST_F(AgentBudgetTest, WithoutMemoryNothingIsReadOrWritten) {
  world_.settings.memory = MemoryUse::kNone;
  const std::string before = knowledge::ToText(world_.Base("blank")->Read().value());
  RunKeepingPrompts("blank");
  EXPECT_EQ(knowledge::ToText(world_.Base("blank")->Read().value()), before);
  for (const std::string& prompt : prompts_["lowering"]) {
    EXPECT_THAT(prompt, Not(HasSubstr("DO NOT REPEAT")));
    EXPECT_THAT(prompt, Not(HasSubstr("note by")));
  }
}

TEST_F(AgentBudgetTest, WithMemoryPromptsHoldWhatWasLearned) {
  world_.budget.evaluations = 24;
  RunKeepingPrompts("learning");
  const auto& prompts = prompts_["lowering"];
  EXPECT_TRUE(std::any_of(prompts.begin(), prompts.end(), [](const std::string& prompt) {
    return prompt.find("note by \"review\"") != std::string::npos;
  }));
  EXPECT_TRUE(std::any_of(prompts.begin(), prompts.end(), [](const std::string& prompt) {
    return prompt.find("Tried on this very code before:") != std::string::npos;
  }));
}

TEST_F(AgentBudgetTest, CyclesOnlyHidesTheCounters) {
  world_.take_profile = [](const Candidate&) -> Result<Profile> {
    return Profile{"ncu 2025.3",
                   {{"k",
                     {{"gpu__time_duration.sum", 60'000},
                      {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 91}}}}};
  };
  RunKeepingPrompts("full");
  EXPECT_THAT(prompts_["lowering"].front(), HasSubstr("memory-bandwidth:"));
  prompts_.clear();
  world_.settings.profiles = Profiles::kTimesOnly;
  RunKeepingPrompts("times");
  EXPECT_THAT(prompts_["lowering"].front(), Not(HasSubstr("memory-bandwidth:")));
  EXPECT_THAT(prompts_["lowering"].front(), Not(HasSubstr("gpu__dram_throughput")));
}

TEST_F(AgentBudgetTest, TheMinimalAgentSeesCodeAndProfile) {
  world_.settings.style = Style::kMinimal;
  world_.settings.asks_reviews = false;
  const std::string before = knowledge::ToText(world_.Base("minimal")->Read().value());
  const World::End end = RunKeepingPrompts("minimal");
  EXPECT_EQ(end.steps.size(), 16U);
  EXPECT_THAT(prompts_["lowering"].front(), HasSubstr("Make the CUDA code below faster"));
  EXPECT_THAT(prompts_["lowering"].front(), Not(HasSubstr("knowledge base")));
  EXPECT_EQ(knowledge::ToText(world_.Base("minimal")->Read().value()), before);
}

TEST_F(AgentBudgetTest, ContrastivePromptsShowVariantsWithScores) {
  world_.settings.style = Style::kContrastive;
  world_.settings.asks_reviews = false;
  world_.budget.evaluations = 24;
  const World::End end = RunKeepingPrompts("contrastive");
  EXPECT_EQ(end.steps.size(), 24U);
  EXPECT_THAT(prompts_["lowering"].front(), HasSubstr("## Variant 1: score 0.5x"));
  EXPECT_THAT(prompts_["lowering"].back(), HasSubstr("## Variant 2: score"));
}

TEST_F(AgentBudgetTest, DocumentsAreSearchedAndQuoted) {
  const std::filesystem::path folder = world_.folder.path() / "documents";
  ASSERT_TRUE(CreateDirectories(folder / "deep").ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "deep/fusion.md",
                              "# Fusion\nKernel fusion keeps intermediates in registers.\n")
                  .ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "cooking.txt", "Boil the potatoes.\n").ok());
  ASSERT_TRUE(WriteFileAtomic(folder / "broken.md", "\xff\xfe kernel").ok());
  const auto documents = Documents::Index(folder);
  ASSERT_TRUE(documents.ok()) << documents.error().Line();
  EXPECT_EQ((*documents)->passages(), 2);
  EXPECT_EQ((*documents)->left_out(), 1);
  EXPECT_THAT((*documents)->Find("kernel-fusion NEAR( \" OR *", 1000).value(),
              HasSubstr("deep/fusion.md, line 1:\n# Fusion"));
  EXPECT_EQ((*documents)->Find("wgmma", 1000).value(), "");
  EXPECT_EQ((*documents)->Find("\" ' ( )", 1000).value(), "");
  EXPECT_FALSE(Documents::Index(folder / "nowhere").ok());

  world_.documents = [&](const std::string& words) { return (*documents)->Find(words, 1000); };
  RunKeepingPrompts("documents");
  const auto& prompts = prompts_["lowering"];
  EXPECT_TRUE(std::any_of(prompts.begin(), prompts.end(), [](const std::string& prompt) {
    return prompt.find("keeps intermediates in registers") != std::string::npos;
  }));
}

}  // namespace
}  // namespace warpsmith::agent
