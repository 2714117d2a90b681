#include "agent/runs/agent_run.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "task/candidate_file.h"
#include "task/hgemm_task.h"

namespace warpsmith::agent {
namespace {

constexpr const char* kFamily = R"toml(
version = 1
entry = "k.cu"
sources = ["k.cu"]
[tunables]
TILE = [16, 32]
[plan]
version = 1
[[plan.operations]]
type = "launch"
kernel = "k"
grid = ["1", "1", "1"]
block = ["TILE", "1", "1"]
arguments = [ { tensor = "C" } ]
)toml";

class AgentRunConfigTest : public testing::Test {
 protected:
  AgentRunConfigTest() {
    WriteFileAtomic(folder_.path() / "k.cu", "extern \"C\" __global__ void k(void*) {}\n").value();
  }
  // A family of kernels of so many tiles.
  std::string Write(const std::string& tiles) {
    std::string text = kFamily;
    text.replace(text.find("[16, 32]"), 8, tiles);
    WriteFileAtomic(folder_.path() / "candidate.toml", text).value();
    return folder_.path().string();
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("beginning").value();
  const Task task_ = task::HgemmTask("TN");
};

TEST_F(AgentRunConfigTest, TakesOneKernelWithoutWhereItCameFrom) {
  RunOptions options;
  options.candidate = Write("[16]");
  const auto run_config = RunConfigOf(options, task_, false);
  ASSERT_TRUE(run_config.ok()) << run_config.error().Line();
  ASSERT_TRUE(run_config->start.has_value());
  EXPECT_TRUE(run_config->start->provenance.config.empty());
  EXPECT_EQ(run_config->settings.form, Form::kKernel);
  EXPECT_EQ(run_config->batch, options.agent.breadth * options.agent.top_k);
}

TEST_F(AgentRunConfigTest, RefusesAFamilyOfKernels) {
  const auto start = task::StartingKernel(Write("[16, 32]"), task_);
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().code, ErrorCode::kUsage);
  EXPECT_NE(start.error().message.find("holds 2 candidates"), std::string::npos);
  EXPECT_FALSE(task::StartingKernel("", task_)->has_value());
}

TEST_F(AgentRunConfigTest, ByHandNoRoundIsSpentOnStatesUnlessAskedFor) {
  RunOptions options;
  EXPECT_TRUE(RunConfigOf(options, task_, false)->settings.asks_states);
  EXPECT_FALSE(RunConfigOf(options, task_, true)->settings.asks_states);
  EXPECT_TRUE(RunConfigOf(options, task_, true)->settings.asks_reviews);
  options.agent.ask = "states";
  EXPECT_TRUE(RunConfigOf(options, task_, true)->settings.asks_states);
  EXPECT_FALSE(RunConfigOf(options, task_, true)->settings.asks_reviews);
}

TEST_F(AgentRunConfigTest, AnAblationAsksForNoLessons) {
  RunOptions options;
  options.agent.no_memory = true;
  EXPECT_EQ(RunConfigOf(options, task_, false)->settings.memory, agent::MemoryUse::kNone);
  EXPECT_FALSE(RunConfigOf(options, task_, false)->settings.asks_reviews);
  options.agent = {};
  options.agent.minimal = true;
  EXPECT_EQ(RunConfigOf(options, task_, false)->settings.style, agent::Style::kMinimal);
  EXPECT_FALSE(RunConfigOf(options, task_, false)->settings.asks_states);
  EXPECT_TRUE(RunConfigOf(options, task_, false)->settings.asks_doubts);
}

TEST_F(AgentRunConfigTest, KnowsWhatMayBeAsked) {
  AgentOptions options;
  for (const char* good : {"auto", "none", "states", "states,reviews,doubts"}) {
    options.ask = good;
    EXPECT_TRUE(CheckAsked(options).ok()) << good;
  }
  for (const char* bad : {"", "states,", "state", "reviews;doubts"}) {
    options.ask = bad;
    EXPECT_EQ(CheckAsked(options).error().code, ErrorCode::kUsage) << bad;
  }
}

}  // namespace
}  // namespace warpsmith::agent
