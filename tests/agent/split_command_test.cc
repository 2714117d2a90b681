// `warpsmith task split`, `task check` of a split, and the whole's run from its parts: with answers
// in an exchange. What is proven needs torch, on the CPU; those tests are skipped without it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "agent/models/tests/exchange.h"
#include "agent/runs/task_split.h"
#include "agent/split/tests/split.h"
#include "commands.h"
#include "core/serialize.h"
#include "recorded_world.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

using split::ChangeTest;
using split::WriteTest;
using testing::HasSubstr;
using testing::Not;

Candidate Kernel(const std::string& mark) {
  Candidate kernel;
  kernel.sources["kernel.cu"] = "// " + mark + "\nextern \"C\" __global__ void k() {}\n";
  kernel.entry = "kernel.cu";
  return kernel;
}

class SplitCommandTest : public testing::Test {
 protected:
  SplitCommandTest() {
    split::WriteTestSplit(At(""));
    options_.common.quiet = true;
    options_.task = At("whole").string();
    options_.into = At("made").string();
    options_.model.models = {"exchange:" + At("prompts").string()};
  }

  std::filesystem::path At(const std::string& path) const { return folder_.path() / path; }
  // Answers what is awaited; the prompt's text.
  std::string AnswerWith(const std::string& text) const {
    const auto awaited = models::AwaitedAnswers(At("prompts"));
    EXPECT_EQ(awaited.size(), 1U);
    WriteTest(awaited.front().answer, text);
    return ReadFile(awaited.front().prompt).value();
  }
  ErrorCode Run() const {
    const auto status = RunTaskSplit(options_);
    EXPECT_FALSE(status.ok());
    return status.error().code;
  }
  Task Whole() const { return task::LoadTask(At("whole").string()).value().task; }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("split").value();
  agent::TaskSplitOptions options_;
};

TEST_F(SplitCommandTest, AsksAgainUntilPartsCompose) {
  if (!split::HasTorch()) GTEST_SKIP() << "no torch here";
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  std::string wrong = split::kTestReply;
  const std::string relu = "F.relu(torch.matmul(x, w) + bias)";
  wrong.replace(wrong.find(relu), relu.size(), "torch.matmul(x, w) + bias");
  EXPECT_THAT(AnswerWith(wrong), Not(HasSubstr("37"))) << "hidden sizes stay hidden";
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  EXPECT_FALSE(std::filesystem::exists(At("made"))) << "nothing is written that is not proven";
  const std::string second = AnswerWith(split::kTestReply);
  EXPECT_THAT(second, HasSubstr("Reply number 1 to this prompt could not be used: workload "
                                "'small': the parts do not compose to the whole"));
  const auto made = RunTaskSplit(options_);
  ASSERT_TRUE(made.ok()) << made.error().Line();
  EXPECT_EQ(*made, 0);
  TaskCheckOptions check;
  check.task = options_.into;
  EXPECT_EQ(RunTaskCheck(check).value(), 0);
  ChangeTest(At("made/part-2/reference.py"), "dim=-1", "dim=0");
  EXPECT_EQ(RunTaskCheck(check).value(), 1) << "it does not compose any more";
  check.text_only = true;
  EXPECT_EQ(RunTaskCheck(check).value(), 0);
  EXPECT_EQ(Run(), ErrorCode::kBadInput) << "nothing that is there is overwritten";
}

TEST_F(SplitCommandTest, NobodyIsAskedToSplitWhatNoPartsCouldEqual) {
  if (!split::HasTorch()) GTEST_SKIP() << "no torch here";
  ChangeTest(At("whole/task.toml"), "reduction_length = \"K\"",
             "absolute = 2.0\nrelative = 0.0\nreason = \"a test\"");
  const auto status = RunTaskSplit(options_);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().Line(), HasSubstr("zeros alone are within the whole's tolerance"));
  EXPECT_TRUE(std::filesystem::is_empty(At("prompts"))) << "a prompt costs somebody time";
}

TEST_F(SplitCommandTest, SaysWhichPartWithoutThisMachinesPaths) {
  if (!split::HasTorch()) GTEST_SKIP() << "no torch here";
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  std::string wrong = split::kTestReply;
  const std::string read = "{\"name\": \"bias\"}]";
  wrong.replace(wrong.find(read), read.size(), "{\"name\": \"bias\"}, {\"name\": \"y\"}]");
  AnswerWith(wrong);
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  const std::string second = AnswerWith("no");
  EXPECT_THAT(second, HasSubstr("could not be used: the parts wait for each other in a circle: "
                                "'part-1', 'part-2' (part-1 is the reply's first part"));
}

TEST_F(SplitCommandTest, GivesUpInOneLineOnAModelThatTalks) {
  if (!split::HasTorch()) GTEST_SKIP() << "no torch here";
  options_.tries = 1;
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  AnswerWith("This task is best left whole.");
  const auto status = RunTaskSplit(options_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(status.error().message,
            "the reply is no split of the task: the reply has no JSON object with \"parts\"");
  EXPECT_FALSE(std::filesystem::exists(At("made")));
}

TEST_F(SplitCommandTest, HiddenSizesDoNotComeBackToTheModel) {
  if (!split::HasTorch()) GTEST_SKIP() << "no torch here";
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  std::string wrong = split::kTestReply;
  const std::string shape = "\"shape\": [\"M\", \"N\"]";
  // 0 where M is 61, which no size that is shown is.
  wrong.replace(wrong.find(shape), shape.size(), "\"shape\": [\"M == 61 ? 0 : M\", \"N\"]");
  AnswerWith(wrong);
  EXPECT_EQ(Run(), ErrorCode::kAwaiting);
  const std::string second = AnswerWith("no");
  EXPECT_THAT(second,
              HasSubstr("could not be used: the parts do not join or compose on all sizes"));
  EXPECT_THAT(second, Not(HasSubstr("odd")));
}

TEST_F(SplitCommandTest, RefusesWhatCannotBeSplit) {
  options_.task = "hgemm:256x256x256:TN";
  EXPECT_EQ(Run(), ErrorCode::kBadInput);
  options_.task = At("whole").string();
  options_.model.models.clear();
  EXPECT_EQ(Run(), ErrorCode::kUsage);
  options_.model.models = {"recorded:run.wsrec"};
  EXPECT_EQ(Run(), ErrorCode::kUsage);
}

class PartKernelsTest : public SplitCommandTest {
 protected:
  auto Kernels() const {
    return agent::PartKernels(At("split"), Whole(), *store_, store::TestDevice().architecture);
  }
  void Export(const std::string& part, const Candidate& kernel) const {
    WriteTest(At("split/" + part + "/best/candidate.json"), ToJson(kernel).dump());
  }
  // A run on a part, as `warpsmith optimize` leaves it.
  void Optimize(const std::string& part, const std::vector<std::string>& marks) {
    agent::World world;
    const auto loaded = task::LoadTask(At("split/" + part).string()).value();
    RunRecord run = world.Request().run;
    run.id = "run-" + part;
    run.task = loaded.task;
    run.workload = loaded.workload;
    ASSERT_TRUE(store_->BeginRun(run).ok());
    for (size_t i = 0; i < marks.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      Step step;
      step.index = index;
      step.candidate = Kernel(marks[i]);
      Job job;
      job.candidate = step.candidate;
      job.task = run.task;
      job.workload = run.workload;
      job.protocol = run.protocol;
      step.verdict = agent::VerdictIn(job);
      const std::string key = part + std::to_string(i);
      const auto lease = store_->LeaseJob(run.id, index, key, store::ThisWorker()).value();
      ASSERT_TRUE(store_->FinishStep(run.id, lease, key, step).ok());
    }
  }

  std::unique_ptr<store::DatabaseStore> store_ =
      store::DatabaseStore::Open(At("store.db"), store::Durability::kProcessDeath).value();
};

TEST_F(PartKernelsTest, TakesExportedKernelsAndTheBestInTheStore) {
  const auto missing = Kernels();
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNothingMeasured);
  EXPECT_THAT(missing.error().Line(), HasSubstr("part 'product' has no kernel yet"));
  Optimize("product", {"us=50", "us=20", "verdict=incorrect us=1", "us=30"});
  EXPECT_THAT(Kernels().error().message, HasSubstr("part 'softmax' has no kernel yet"));
  Export("softmax", Kernel("exported"));
  const auto kernels = Kernels();
  ASSERT_TRUE(kernels.ok()) << kernels.error().Line();
  ASSERT_EQ(kernels->size(), 2U);
  EXPECT_EQ((*kernels)[0].name, "product");
  EXPECT_EQ(CandidateId((*kernels)[0].candidate), CandidateId(Kernel("us=20")));
  EXPECT_EQ(CandidateId((*kernels)[1].candidate), CandidateId(Kernel("exported")));
  EXPECT_THAT((*kernels)[1].facts, HasSubstr("its tensor rows is h of the whole"));
  EXPECT_THAT((*kernels)[1].facts, HasSubstr("torch.softmax(rows, dim=-1)"));
  EXPECT_THAT((*kernels)[0].facts, Not(HasSubstr("37"))) << "hidden sizes stay hidden";
  EXPECT_FALSE(agent::PartKernels(At("split"), Whole(), *store_, "sm_70").ok()) << "another GPU's";
}

TEST_F(PartKernelsTest, AreThoseOfThisTask) {
  Export("product", Kernel("a"));
  Export("softmax", Kernel("b"));
  ASSERT_TRUE(Kernels().ok());
  Task other = Whole();
  other.tolerance.reduction_length = Expression::Constant(7);
  const auto kernels = agent::PartKernels(At("split"), other, *store_, "sm_90a");
  ASSERT_FALSE(kernels.ok());
  EXPECT_THAT(kernels.error().message, HasSubstr("splits another task"));
}

// From parts to the whole: a model is shown both kernels, and what it joins is judged as the whole.
TEST_F(PartKernelsTest, BeginTheWholesRun) {
  Export("product", Kernel("fast product"));
  Export("softmax", Kernel("fast softmax"));
  std::string first;
  agent::ScriptedModel model([&](const ChatRequest& request) -> Result<std::string> {
    if (request.role != "bootstrap") return agent::TypicalAnswer(request);
    first = request.messages.front().text;
    return agent::CodeReply("us=60");
  });
  agent::World world;
  world.task = Whole();
  world.workload = world.task.workloads.front();
  world.models = {{"", &model}};
  world.parts = Kernels().value();
  world.budget.evaluations = 6;
  const agent::World::End end = world.Go("whole");
  ASSERT_TRUE(end.loop.ok()) << end.loop.error().Line();
  EXPECT_THAT(first, HasSubstr("fast product"));
  EXPECT_THAT(first, HasSubstr("fast softmax"));
  EXPECT_THAT(first, HasSubstr("torch.softmax(torch.relu(x @ w + bias), dim=-1)"));
  EXPECT_THAT(first, Not(HasSubstr("odd")));
  EXPECT_EQ(end.steps.size(), 6U);
  ASSERT_TRUE(RatioToPrimary(end.steps.front().verdict, Mode::kDeviceHot).has_value());
}

// The command itself, as a user gives it, up to the judge: his part is played by a recording.
class JoinCommandTest : public PartKernelsTest {
 protected:
  JoinCommandTest() {
    Export("product", Kernel("fast product"));
    Export("softmax", Kernel("fast softmax"));
    RecordedWorld judged;
    agent::ScriptedModel model(
        [](const ChatRequest&) -> Result<std::string> { return agent::CodeReply("us=60"); });
    judged.world.models = {{"", &model}};
    judged.world.task = Whole();
    judged.world.workload = judged.world.task.workloads.front();
    judged.world.budget.evaluations = 1;
    CHECK(judged.Record(At("judged.wsrec")).ok());
  }

  struct Said {
    int status = 0;
    std::string errors;
  };
  Said Optimize(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"warpsmith",
                                      "optimize",
                                      At("whole").string(),
                                      "--proposer",
                                      "agent",
                                      "--model",
                                      "exchange:" + At("prompts").string(),
                                      "--parts",
                                      At("split").string(),
                                      "--device",
                                      At("judged.wsrec").string(),
                                      "--store",
                                      At("run.db").string(),
                                      "--run",
                                      "joined",
                                      "--breadth",
                                      "1",
                                      "--ask",
                                      "none",
                                      "--budget",
                                      "evals=1",
                                      "--knowledge",
                                      At("base.kb").string()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = Main(static_cast<int>(words.size()), arguments.data());
    testing::internal::GetCapturedStdout();
    return {status, testing::internal::GetCapturedStderr()};
  }
};

TEST_F(JoinCommandTest, FromPartsToAWholeThatIsJudged) {
  const Said asked = Optimize();
  EXPECT_EQ(asked.status, 79) << asked.errors;
  // What has become of the parts since does not change a run that has begun.
  std::filesystem::remove_all(At("split/product/best"));
  const std::string prompt = AnswerWith(agent::CodeReply("us=60"));
  EXPECT_THAT(prompt, HasSubstr("fast product"));
  EXPECT_THAT(prompt, HasSubstr("fast softmax"));
  EXPECT_THAT(prompt, HasSubstr("torch.softmax(torch.relu(x @ w + bias), dim=-1)"));
  EXPECT_THAT(prompt, Not(HasSubstr("37"))) << "hidden sizes stay hidden";
  const Said ended = Optimize();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  const auto store = store::DatabaseStore::Open(At("run.db"), store::Durability::kProcessDeath);
  const Trajectory steps = store.value()->Steps("joined").value();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_NEAR(RatioToPrimary(steps[0].verdict, Mode::kDeviceHot).value(), 100.0 / 60, 0.01);
}

TEST_F(JoinCommandTest, APartWithoutAKernelEndsItBeforeAnybodyIsAsked) {
  std::filesystem::remove_all(At("split/softmax/best"));
  const Said said = Optimize();
  EXPECT_EQ(said.status, Describe(ErrorCode::kNothingMeasured).exit_status) << said.errors;
  EXPECT_THAT(said.errors, HasSubstr("part 'softmax' has no kernel yet (warpsmith optimize"));
  EXPECT_TRUE(std::filesystem::is_empty(At("prompts")));
}

TEST_F(JoinCommandTest, PartsOfAnotherTaskAreRefused) {
  ChangeTest(At("whole/task.toml"), "reduction_length = \"K\"", "reduction_length = \"K + 1\"");
  ChangeTest(At("split/parts.toml"), "../whole", "../product");
  std::filesystem::copy(At("split/product"), At("product"));
  const Said said = Optimize();
  EXPECT_EQ(said.status, Describe(ErrorCode::kBadInput).exit_status);
  EXPECT_THAT(said.errors, HasSubstr("splits another task"));
}

}  // namespace
}  // namespace warpsmith::cli

int main(int argc, char** argv) { return warpsmith::split::MainOfTests(argc, argv); }
