#include "search/workbench.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/tests/seams.h"

namespace warpsmith::search {
namespace {

class WorkbenchTest : public testing::Test {
 protected:
  Workbench Open(int64_t evaluations = 100) {
    WorkbenchRequest request;
    request.task.name = "task";
    request.workload.name = "w";
    request.run = "run";
    request.worker = "worker";
    request.budget.evaluations = evaluations;
    auto bench = Workbench::Open(request, store_, [this]() -> Result<Seams> {
      ++opened_;
      return Seams{device_, &compiler_};
    });
    EXPECT_TRUE(bench.ok()) << bench.error().Line();
    return std::move(bench).value();
  }

  MemoryStore store_;
  BackwardDevice device_;
  FifthFails compiler_;
  int opened_ = 0;
};

TEST_F(WorkbenchTest, EachVerdictIsAStepUntilTheBudgetIsSpent) {
  Workbench bench = Open(3);
  EXPECT_EQ(opened_, 0) << "nobody has asked for a verdict";
  for (const int64_t number : {1, 4}) {
    ASSERT_TRUE(bench.Evaluate(NumberedCandidate(number), {0, 0, 0, 50, 0}, {}).ok());
  }
  // Another process that drives the same run by hand.
  Workbench again = Open(3);
  EXPECT_EQ(again.steps(), 2);
  EXPECT_EQ(again.spending().spent().tokens, 100);
  const auto third = again.Evaluate(NumberedCandidate(7), {}, {}).value();
  EXPECT_EQ(third.id(), "run:run#2");
  EXPECT_EQ(third.step.candidate.provenance.proposer, "mcp");
  EXPECT_EQ(again.Best(Level::kScreened).value()->id(), "run:run#2");

  const auto refused = again.Evaluate(NumberedCandidate(8), {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kAnswerIsNo);
  EXPECT_EQ(store_.Steps("run").value().size(), 3U);
  EXPECT_EQ(device_.judged().size(), 2U) << "4 did not compile";
}

TEST_F(WorkbenchTest, WhatIsStoppedIsNoStep) {
  Workbench bench = Open();
  const auto stopped = bench.Evaluate(NumberedCandidate(1), {}, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(bench.steps(), 0);
  ASSERT_TRUE(bench.Evaluate(NumberedCandidate(1), {}, {}).ok());
  EXPECT_EQ(store_.Steps("run").value().size(), 1U);
}

TEST_F(WorkbenchTest, FindsVerdictsByTheirIdsAndTellsTheGain) {
  Workbench bench = Open();
  const FoundStep slow = bench.Evaluate(NumberedCandidate(0), {}, {}).value();
  const FoundStep fast = bench.Evaluate(NumberedCandidate(50), {}, {}).value();
  EXPECT_NEAR(*LogGain(slow, fast), std::log(2), 1e-9);
  EXPECT_EQ(bench.Find(fast.id())->step.candidate.sources.at("k.cu"), "50");
  for (const char* id : {"run:run#2", "run:other#0", "start"}) {
    EXPECT_EQ(bench.Find(id).error().code, ErrorCode::kBadInput) << id;
  }
  const auto certified = bench.Certify(fast, {}).value();
  EXPECT_EQ(certified.record.protocol.level, Level::kCertified);
  EXPECT_EQ(bench.spending().spent().evaluations, 3);
}

TEST_F(WorkbenchTest, AStoreThatFailsAtAnyCallSaysSo) {
  WorkbenchRequest request;
  request.task.name = "task";
  request.run = "run";
  request.budget.evaluations = 100;
  const auto drive = [&](Store& store) -> Status {
    BackwardDevice device;
    const auto open = [&]() -> Result<Seams> { return Seams{device, &compiler_}; };
    Workbench bench = TRY(Workbench::Open(request, store, open));
    const FoundStep first = TRY(bench.Evaluate(NumberedCandidate(0), {}, {}));
    TRY(bench.Evaluate(NumberedCandidate(50), {}, {}));
    TRY(bench.Certify(TRY(bench.Find(first.id())), {}));
    TRY(bench.Best(Level::kScreened));
    return {};
  };
  int calls = 0;
  for (;; ++calls) {
    MemoryStore store;
    store.calls_left = calls;
    const Status cut = drive(store);
    store.calls_left = std::numeric_limits<int>::max();
    if (cut.ok()) break;
    EXPECT_EQ(cut.error().code, ErrorCode::kIo) << cut.error().Line();
    EXPECT_TRUE(drive(store).ok()) << "after " << calls << " calls";
  }
  EXPECT_GT(calls, 6);
}

TEST_F(WorkbenchTest, ARunOfAnotherDeviceIsNotGoneOnWith) {
  ASSERT_TRUE(Open().Evaluate(NumberedCandidate(1), {}, {}).ok());
  RunRecord other = store_.FindRun("run").value().value();
  other.device.uuid = "GPU-other";
  other.id = "elsewhere";
  ASSERT_TRUE(store_.BeginRun(other).ok());
  WorkbenchRequest request;
  request.task = other.task;
  request.workload = other.workload;
  request.run = other.id;
  request.budget.evaluations = 100;
  auto bench = Workbench::Open(request, store_, [this]() -> Result<Seams> {
    return Seams{device_, &compiler_};
  });
  const auto refused = bench.ok() ? bench->Evaluate(NumberedCandidate(2), {}, {}) : bench.error();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConfig);
}

TEST_F(WorkbenchTest, ARunAboutOtherSizesIsNotGoneOnWith) {
  ASSERT_TRUE(Open().Evaluate(NumberedCandidate(1), {}, {}).ok());
  WorkbenchRequest request;
  request.task.name = "task";
  request.workload.sizes = {{"N", 8}};
  request.run = "run";
  const auto refused = Workbench::Open(request, store_, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConfig);
}

}  // namespace
}  // namespace warpsmith::search
