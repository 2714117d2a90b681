#include "agent_beginning.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "starting_kernel.h"
#include "task/hgemm_task.h"

namespace warpsmith::cli {
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

class AgentBeginningTest : public testing::Test {
 protected:
  AgentBeginningTest() {
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

TEST_F(AgentBeginningTest, TakesOneKernelWithoutWhereItCameFrom) {
  OptimizeOptions options;
  options.candidate = Write("[16]");
  const auto beginning = BeginningOf(options, task_, false);
  ASSERT_TRUE(beginning.ok()) << beginning.error().Line();
  ASSERT_TRUE(beginning->start.has_value());
  EXPECT_TRUE(beginning->start->provenance.config.empty());
  EXPECT_EQ(beginning->settings.form, Form::kKernel);
  EXPECT_EQ(beginning->batch, options.agent.breadth * options.agent.top_k);
}

TEST_F(AgentBeginningTest, RefusesAFamilyOfKernels) {
  const auto start = StartingKernel(Write("[16, 32]"), task_);
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().code, ErrorCode::kUsage);
  EXPECT_NE(start.error().message.find("holds 2 candidates"), std::string::npos);
  EXPECT_FALSE(StartingKernel("", task_)->has_value());
}

TEST_F(AgentBeginningTest, ByHandNoRoundIsSpentOnStatesUnlessAskedFor) {
  OptimizeOptions options;
  EXPECT_TRUE(BeginningOf(options, task_, false)->settings.asks_states);
  EXPECT_FALSE(BeginningOf(options, task_, true)->settings.asks_states);
  EXPECT_TRUE(BeginningOf(options, task_, true)->settings.asks_reviews);
  options.agent.ask = "states";
  EXPECT_TRUE(BeginningOf(options, task_, true)->settings.asks_states);
  EXPECT_FALSE(BeginningOf(options, task_, true)->settings.asks_reviews);
}

TEST_F(AgentBeginningTest, AnAblationAsksForNoLessons) {
  OptimizeOptions options;
  options.agent.no_memory = true;
  EXPECT_EQ(BeginningOf(options, task_, false)->settings.memory, agent::Memory::kNone);
  EXPECT_FALSE(BeginningOf(options, task_, false)->settings.asks_reviews);
  options.agent = {};
  options.agent.minimal = true;
  EXPECT_EQ(BeginningOf(options, task_, false)->settings.style, agent::Style::kMinimal);
  EXPECT_FALSE(BeginningOf(options, task_, false)->settings.asks_states);
  EXPECT_TRUE(BeginningOf(options, task_, false)->settings.asks_doubts);
}

TEST_F(AgentBeginningTest, KnowsWhatMayBeAsked) {
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
}  // namespace warpsmith::cli
