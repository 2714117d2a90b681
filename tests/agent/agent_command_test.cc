// `warpsmith optimize --proposer agent` on a recorded run: with no model, no GPU and no key.
#include <gmock/gmock.h>

#include "agent/runs/models_by_role.h"
#include "agent/runs/run_recording.h"
#include "agent_world.h"
#include "commands.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kTask = "hgemm:256x256x256:NN";

class AgentCommandTest : public testing::Test {
 protected:
  AgentCommandTest() {
    const task::LoadedTask loaded = task::LoadTask(kTask, "").value();
    world_.task = loaded.task;
    world_.workload = loaded.workload;
    world_.models = {{"", &model_}};
    world_.take_profile = [](const Candidate&) -> Result<Profile> {
      return Profile{"ncu 2025.3",
                     {{"k",
                       {{"gpu__time_duration.sum", 60'000},
                        {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 91}}}}};
    };
    real_ = world_.Go("real");
    EXPECT_TRUE(real_.loop.ok()) << real_.loop.error().Line();
  }

  std::filesystem::path Recording() const { return world_.folder.path() / "run.wsrec"; }
  Status Record() {
    std::vector<agent::JudgedStep> steps;
    for (const Step& step : real_.steps) steps.push_back({step, Protocol::Screened()});
    return agent::RecordRun(Recording(), world_.Request().run, steps, real_.memos, nullptr);
  }
  OptimizeOptions Options() const {
    OptimizeOptions options;
    options.common.quiet = true;
    options.task = kTask;
    options.search.proposer = "agent";
    options.search.budget = "evals=40";
    options.search.run = "replay";
    options.device.store = (world_.folder.path() / "replay.db").string();
    options.agent.models = {"recorded:" + Recording().string()};
    return options;
  }

  agent::ScriptedModel model_{agent::TypicalAnswer};
  agent::World world_;
  agent::World::End real_;
};

TEST_F(AgentCommandTest, ReplaysARecordedRun) {
  ASSERT_TRUE(Record().ok());
  EXPECT_EQ(Record().error().code, ErrorCode::kConfig) << "a recording is not overwritten";
  const int asked = model_.asked();
  const auto status = RunAgent(Options());
  ASSERT_TRUE(status.ok()) << status.error().Line();
  EXPECT_EQ(*status, 0);
  EXPECT_FALSE(real_.vetoed.empty()) << "a veto is part of what is replayed";
  auto store = store::DatabaseStore::Open(Options().device.store, store::Durability::kProcessDeath);
  EXPECT_EQ(agent::TrajectoryText((*store)->Steps("replay").value()),
            agent::TrajectoryText(real_.steps));
  EXPECT_EQ(store::RunMemos(**store, "replay").All().value(), real_.memos);
  EXPECT_EQ(model_.asked(), asked);

  // And once more, from the store alone.
  EXPECT_TRUE(RunAgent(Options()).ok());
}

TEST_F(AgentCommandTest, AReplayCanBeRecordedAgain) {
  ASSERT_TRUE(Record().ok());
  OptimizeOptions options = Options();
  options.agent.record = (world_.folder.path() / "again.wsrec").string();
  ASSERT_TRUE(RunAgent(options).ok());
  const auto device = store::RecordedDevice::Open(options.agent.record).value();
  const auto run = agent::FindRecordedRun(*device, world_.task, world_.workload);
  ASSERT_TRUE(run.ok()) << run.error().Line();
  EXPECT_EQ(run->memos, real_.memos);
  EXPECT_EQ(run->steps, static_cast<int64_t>(real_.steps.size()));
}

TEST_F(AgentCommandTest, AsksNobodyWhereNothingCanBeJudged) {
  OptimizeOptions options = Options();
  options.device.device = world_.folder.path().string();  // no recordings in it
  EXPECT_EQ(RunAgent(options).error().code, ErrorCode::kNoInput);
  options.agent.models = {"exchange:" + (world_.folder.path() / "prompts").string()};
  options.device = {};
  options.device.store = (world_.folder.path() / "none.db").string();
  options.agent.knowledge = (world_.folder.path() / "none.kb").string();
  const auto status = RunAgent(options);
  if (!status.ok() && status.error().code == ErrorCode::kAwaiting) GTEST_SKIP() << "a GPU is here";
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().Line();
  EXPECT_FALSE(std::filesystem::exists(world_.folder.path() / "prompts"));
}

TEST_F(AgentCommandTest, AsksNoServerForKernelsThatARecordingCannotJudge) {
  ASSERT_TRUE(Record().ok());
  OptimizeOptions options = Options();
  options.agent.models = {"openai:m@http://127.0.0.1:1/v1"};  // nobody listens there
  options.device.device = Recording().string();
  const auto status = RunAgent(options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kConfig) << status.error().Line();
  EXPECT_THAT(status.error().message, HasSubstr("openai:m@"));
}

TEST_F(AgentCommandTest, ARunInWhichNothingPassedSaysWhyAndIsNoSuccess) {
  agent::ScriptedModel prose(
      [](const ChatRequest&) -> Result<std::string> { return std::string("I would rather not."); });
  world_.models = {{"", &prose}};
  world_.run = "prose";
  real_ = world_.Go("prose");
  ASSERT_TRUE(Record().ok());
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto status = RunAgent(Options());
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::Not(HasSubstr(", ,")));
  ASSERT_TRUE(status.ok()) << status.error().Line();
  EXPECT_EQ(*status, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("no kernel passed"), HasSubstr("no code")));
}

TEST_F(AgentCommandTest, BeginsWithPartsOrWithAKernel) {
  ASSERT_TRUE(Record().ok());
  OptimizeOptions options = Options();
  options.candidate = "kernel";
  options.agent.parts = "parts";
  EXPECT_EQ(RunAgent(options).error().code, ErrorCode::kUsage);
}

TEST_F(AgentCommandTest, RefusesARecordingOfAnotherTask) {
  ASSERT_TRUE(Record().ok());
  OptimizeOptions options = Options();
  options.task = "hgemm:512x512x512:NN";
  const auto status = RunAgent(options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotRecorded);
}

TEST(AgentModels, ASpecSaysRoleKindAndPlace) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("models").value();
  agent::AgentOptions options;
  options.models = {"exchange:" + folder.path().string(),
                    "review=openai:small@http://127.0.0.1:9/v1"};
  const auto models = agent::OpenModels(options, {});
  if (!models.ok()) {  // no libcurl here
    EXPECT_EQ(models.error().code, ErrorCode::kUnavailable) << models.error().Line();
    GTEST_SKIP();
  }
  EXPECT_TRUE(models->waits_for_answers);
  EXPECT_EQ(models->by_role.size(), 2U);
  EXPECT_TRUE(models->by_role.contains("review"));
}

TEST(AgentModels, RefusesWhatIsNone) {
  for (const char* text : {"gpt", "openai:", "openai:model", "sorcery=exchange:x", "telepathy:x"}) {
    agent::AgentOptions options;
    options.models = {text};
    EXPECT_EQ(agent::OpenModels(options, {}).error().code, ErrorCode::kUsage) << text;
  }
  EXPECT_EQ(agent::OpenModels({}, {}).error().code, ErrorCode::kUsage);
}

TEST(AgentModels, ABudgetOfTokensNeedsALimitOfReplies) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("models").value();
  agent::AgentOptions options;
  options.models = {"exchange:" + folder.path().string()};
  Budget budget;
  budget.tokens = 1000;
  EXPECT_THAT(agent::OpenModels(options, budget).error().fix, HasSubstr("--max-tokens"));
  options.max_tokens = 100;
  EXPECT_TRUE(agent::OpenModels(options, budget).ok());
  budget.money = 1;
  options.models.push_back("review=openai:small@http://127.0.0.1:9/v1");
  const auto models = agent::OpenModels(options, budget);
  ASSERT_FALSE(models.ok());
  if (models.error().code != ErrorCode::kUnavailable) {
    EXPECT_THAT(models.error().message, HasSubstr("no price"));
  }
}

}  // namespace
}  // namespace warpsmith::cli
