#include "search/loop.h"

#include <gmock/gmock.h>

#include "search/tests/seams.h"

namespace warpsmith::search {
namespace {

using testing::HasSubstr;

// Proposes 0, 1, 2, ... below `limit`, and writes down what it is asked and told, in order:
// "p" for a proposal of n, "o3" for observing candidate 3.
class CountingProposer : public Proposer {
 public:
  explicit CountingProposer(int64_t limit) : limit_(limit) {}
  std::string_view Name() const override { return "counting"; }
  Result<std::vector<Proposal>> Propose(int n) override {
    log_ += "p ";
    std::vector<Proposal> proposals;
    for (; n > 0 && next_ < limit_; --n) proposals.push_back({NumberedCandidate(next_++), {}, {}});
    return proposals;
  }
  void Observe(const Step& step) override { log_ += step.candidate.sources.at("k.cu") + " "; }
  const std::string& log() const { return log_; }

 private:
  int64_t limit_, next_ = 0;
  std::string log_;
};

class LoopTest : public testing::Test {
 protected:
  LoopRequest Request(int batch = 2) const {
    LoopRequest request;
    request.run.id = "run";
    request.run.task.name = "task";
    request.run.workload.name = "w";
    request.run.protocol = Protocol::Screened();
    request.run.batch = batch;
    request.run.device = device_.Info();
    request.worker = "w";
    request.compile_threads = 2;
    return request;
  }
  Result<LoopResult> Run(const LoopRequest& request, Proposer& proposer,
                         const LoopCallbacks& callbacks = {}) {
    return RunLoop(request, proposer, &compiler_, device_, store_, callbacks);
  }

  MemoryStore store_;
  BackwardDevice device_;
  FifthFails compiler_;
};

TEST_F(LoopTest, ObservesInProposalOrderTwoGenerationsDeep) {
  CountingProposer proposer(6);
  const auto result = Run(Request(), proposer).value();
  EXPECT_EQ(result.reason, EndReason::kExhausted);
  // g + 1 once all of g - 1 is observed; the last two proposals are empty.
  EXPECT_EQ(proposer.log(), "p p 0 1 p 2 3 p 4 5 p ");
  const std::vector<Step> steps = store_.Steps("run").value();
  ASSERT_EQ(steps.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(steps[i].index, static_cast<int64_t>(i));
    EXPECT_EQ(steps[i].candidate.sources.at("k.cu"), std::to_string(i));
  }
}

TEST_F(LoopTest, AStoreThatFailsAtAnyCallCostsNoStep) {
  for (int calls = 0, failures = 0;; ++calls) {
    MemoryStore store;
    const auto run = [&] {
      BackwardDevice device;
      CountingProposer proposer(6);
      return RunLoop(Request(), proposer, &compiler_, device, store, {});
    };
    store.calls_left = calls;
    const auto cut = run();
    store.calls_left = std::numeric_limits<int>::max();
    if (cut.ok()) {
      EXPECT_GT(failures, 6);
      break;
    }
    ++failures;
    EXPECT_EQ(cut.error().code, ErrorCode::kIo) << cut.error().Line();
    ASSERT_TRUE(run().ok());
    const std::vector<Step> steps = store.Steps("run").value();
    ASSERT_EQ(steps.size(), 6U) << "after " << calls << " calls";
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].candidate.sources.at("k.cu"), std::to_string(i));
    }
  }
}

TEST_F(LoopTest, ProposesBeyondItsBudgetWhereTheRunThatItReplaysHad) {
  LoopRequest request = Request();
  request.budget.evaluations = 4;
  request.propose_to = 10;
  CountingProposer proposer(40);
  const auto result = Run(request, proposer).value();
  EXPECT_EQ(result.reason, EndReason::kBudget);
  EXPECT_EQ(result.steps, 4);
  EXPECT_EQ(proposer.log(), "p p 0 1 p 2 3 p ");
  EXPECT_EQ(device_.judged().size(), 4U);
}

TEST_F(LoopTest, WhatDoesNotCompileIsAVerdictAndNeverReachesTheDevice) {
  CountingProposer proposer(10);
  const auto result = Run(Request(4), proposer).value();
  EXPECT_EQ(result.steps, 10);
  EXPECT_EQ(result.progress.outcomes.at("compile-failed"), 2);
  EXPECT_EQ(device_.judged().size(), 8U);
}

TEST_F(LoopTest, HandsTheBestBack) {
  CountingProposer proposer(13);
  const auto result = Run(Request(4), proposer);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->best.size(), 3U);
  EXPECT_EQ(result->best[0].candidate.sources.at("k.cu"), "12");
  EXPECT_EQ(result->best[2].candidate.sources.at("k.cu"), "10");
  EXPECT_DOUBLE_EQ(*result->progress.best_ratio, 100.0 / 88);
}

// Eq. 3: what is a little slower and much more exact wins, in the search and as certified.
TEST_F(LoopTest, AlphaChangesTheWinner) {
  CountingProposer proposer(13);
  LoopRequest request = Request(4);
  request.reward = {RewardForm::kRaw, 0.1};
  const auto result = Run(request, proposer);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->best[0].candidate.sources.at("k.cu"), "10");
  EXPECT_DOUBLE_EQ(result->best[0].reward, 100.0 / 90 - 0.1 * 0.01);
  std::vector<Step> finalists = result->best;
  finalists.emplace_back().candidate = NumberedCandidate(12);
  const auto certified = Certify(request, finalists, &compiler_, device_, store_).value();
  EXPECT_EQ(certified.winner, 0U);
  const auto plain = Certify(Request(4), finalists, &compiler_, device_, store_);
  EXPECT_EQ(plain.error().code, ErrorCode::kConfig) << "the same run by another reward";
}

TEST_F(LoopTest, KeepsToTheDevicesQueue) {
  CountingProposer proposer(40);
  LoopRequest request = Request(16);
  request.device_queue = 3;
  ASSERT_TRUE(Run(request, proposer).ok());
  EXPECT_LE(device_.most_at_once(), 3U);
}

TEST_F(LoopTest, StopsAtExactlyItsEvaluations) {
  for (const int64_t limit : {0, 1, 2, 3, 4, 7}) {
    MemoryStore store;
    CountingProposer proposer(100);
    LoopRequest request = Request();
    request.budget.evaluations = limit;
    const auto result = RunLoop(request, proposer, &compiler_, device_, store).value();
    EXPECT_EQ(result.steps, limit);
    EXPECT_EQ(result.reason, EndReason::kBudget);
    EXPECT_EQ(result.limit, "evals");
  }
}

TEST_F(LoopTest, StaysBelowAGpuLimit) {
  CountingProposer proposer(100);
  LoopRequest request = Request(8);
  request.budget.gpu_seconds = 3.2;
  const auto result = Run(request, proposer).value();
  EXPECT_EQ(result.limit, "gpu");
  EXPECT_LE(result.progress.spent.gpu_seconds, 3.2);
  EXPECT_GE(result.progress.spent.gpu_seconds, 2.5);
}

TEST_F(LoopTest, MeasuresNothingTwice) {
  CountingProposer first(10);
  ASSERT_TRUE(Run(Request(), first).ok());
  const size_t judged = device_.judged().size();
  CountingProposer second(10);
  LoopRequest request = Request(3);
  request.run.id = "another";
  const auto result = Run(request, second);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->steps, 10);
  EXPECT_EQ(device_.judged().size(), judged);
  EXPECT_EQ(result->progress.spent.gpu_seconds, 0);
  EXPECT_EQ(compiler_.compiled(), 10);
}

// Proposes the same content again and again.
class Stubborn : public Proposer {
 public:
  std::string_view Name() const override { return "stubborn"; }
  Result<std::vector<Proposal>> Propose(int n) override {
    if (++calls_ > 3) return std::vector<Proposal>();
    return std::vector<Proposal>(static_cast<size_t>(n), {NumberedCandidate(1), {}, {}});
  }
  void Observe(const Step& /*step*/) override {}

 private:
  int calls_ = 0;
};

TEST_F(LoopTest, TheSameContentTwiceIsJudgedOnce) {
  Stubborn proposer;
  const auto result = Run(Request(3), proposer).value();
  EXPECT_EQ(result.steps, 9);
  EXPECT_EQ(device_.judged().size(), 1U);
  EXPECT_EQ(result.progress.spent.gpu_seconds, 0.5);
}

TEST_F(LoopTest, ABrokenToolchainEndsTheLoopAndKeepsWhatWasCommitted) {
  CountingProposer proposer(100);
  compiler_.broken_at = 12;
  const auto result = Run(Request(), proposer);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_GE(store_.Steps("run").value().size(), 8U);

  compiler_.broken_at = -1;
  CountingProposer again(20);
  const auto resumed = Run(Request(), again).value();
  EXPECT_EQ(resumed.steps, 20);
}

TEST_F(LoopTest, RefusesToResumeWithOtherCandidates) {
  CountingProposer first(4);
  ASSERT_TRUE(Run(Request(), first).ok());
  class Other : public CountingProposer {
   public:
    Other() : CountingProposer(4) {}
    Result<std::vector<Proposal>> Propose(int n) override {
      std::vector<Proposal> proposals = CountingProposer::Propose(n).value();
      for (Proposal& one : proposals) one.candidate.flags = {"-changed"};
      return proposals;
    }
  } other;
  const auto result = Run(Request(), other);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kConfig);
  EXPECT_THAT(result.error().message, HasSubstr("changed since"));
}

// Its second proposal is no candidate; each costs 100 tokens.
class HalfMute : public CountingProposer {
 public:
  using CountingProposer::CountingProposer;
  Result<std::vector<Proposal>> Propose(int n) override {
    std::vector<Proposal> proposals = CountingProposer::Propose(n).value();
    for (Proposal& one : proposals) {
      one.cost.tokens = 100;
      if (one.candidate.sources.at("k.cu") == "1") one.refusal = Rejected{"reply", "prose"};
    }
    return proposals;
  }
};

TEST_F(LoopTest, AProposalWithoutACandidateIsAStepThatCostsNoMeasurement) {
  HalfMute proposer(3);
  const auto result = Run(Request(3), proposer).value();
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(device_.judged().size(), 2U);
  EXPECT_EQ(compiler_.compiled(), 2);
  EXPECT_EQ(result.progress.spent.tokens, 300);
  const std::vector<Step> steps = store_.Steps("run").value();
  EXPECT_EQ(Describe(steps[1].verdict.outcome), Describe(Outcome(Rejected{"reply", "prose"})));
  EXPECT_EQ(steps[1].cost.gpu_seconds, 0);
}

TEST_F(LoopTest, GoesOnAtAnotherGpuOfTheSameKind) {
  CountingProposer first(4);
  ASSERT_TRUE(Run(Request(), first).ok());
  LoopRequest elsewhere = Request();
  elsewhere.run.device.uuid = "GPU-another";
  CountingProposer again(4);
  EXPECT_TRUE(Run(elsewhere, again).ok());
  elsewhere.run.device.name = "another kind";
  CountingProposer third(4);
  EXPECT_EQ(Run(elsewhere, third).error().code, ErrorCode::kConfig);
}

TEST_F(LoopTest, EndsInTime) {
  CountingProposer proposer(1000);
  LoopRequest request = Request();
  request.max_seconds = 0;
  const auto result = Run(request, proposer);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reason, EndReason::kMaxSeconds);
  EXPECT_EQ(result->steps, 0);
}

TEST_F(LoopTest, NeedsACompilerWhereTheDeviceDoes) {
  CountingProposer proposer(1);
  EXPECT_EQ(RunLoop(Request(), proposer, nullptr, device_, store_).error().code,
            ErrorCode::kConfig);
}

TEST_F(LoopTest, NamesWhatIsWrongWithARequest) {
  CountingProposer proposer(1);
  const auto message = [&](const LoopRequest& request) {
    const auto result = Run(request, proposer);
    EXPECT_EQ(result.error().code, ErrorCode::kConfig);
    return result.error().message;
  };
  LoopRequest request = Request();
  request.run.protocol.modes.clear();
  EXPECT_THAT(message(request), HasSubstr("measures in no mode"));
  EXPECT_THAT(message(Request(0)), HasSubstr("at least one proposal"));
  request = Request();
  request.device_queue = 0;
  EXPECT_THAT(message(request), HasSubstr("room for at least one job"));
  EXPECT_FALSE(store_.FindRun("run")->has_value()) << "nothing was begun";
  ASSERT_TRUE(Run(Request(), proposer).ok());
  request = Request();
  ++request.run.seed;
  EXPECT_THAT(message(request), HasSubstr("was begun with seed "));
}

TEST_F(LoopTest, CertifiesFinalistsInARunOfTheirOwn) {
  CountingProposer proposer(13);
  const auto search = Run(Request(4), proposer);
  ASSERT_TRUE(search.ok());
  const auto certified = Certify(Request(4), search->best, &compiler_, device_, store_).value();
  ASSERT_EQ(certified.steps.size(), 3U);
  EXPECT_EQ(certified.winner, 0U);
  EXPECT_EQ(std::get<Passed>(certified.steps[0].verdict.outcome).level, Level::kCertified);
  const size_t judged = device_.judged().size();
  ASSERT_TRUE(Certify(Request(4), search->best, &compiler_, device_, store_).ok());
  EXPECT_EQ(device_.judged().size(), judged) << "certified twice";
}

Step StepOf(const Outcome& outcome) {
  Step step;
  step.verdict.outcome = outcome;
  step.cost = {1, 0.5, 1, 0, 0};
  return step;
}

TEST(ProgressTest, EstimatesFromTheNearestLimit) {
  Budget budget;
  budget.evaluations = 10;
  ProgressTracker tracker("run", Mode::kDeviceHot, budget, 1000);
  EXPECT_FALSE(tracker.progress().seconds_left.has_value());
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  EXPECT_DOUBLE_EQ(*tracker.progress().seconds_left, 18);
  budget.gpu_seconds = 1;
  ProgressTracker limited("run", Mode::kDeviceHot, budget, 1000);
  limited.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  EXPECT_DOUBLE_EQ(*limited.progress().seconds_left, 2);
}

TEST(ProgressTest, ReplayedStepsCountButSayNothingOfThePace) {
  ProgressTracker tracker("run", Mode::kDeviceHot, {}, 60);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kReplayed, 0.1);
  EXPECT_EQ(tracker.progress().evaluations, 1);
  EXPECT_FALSE(tracker.progress().seconds_left.has_value());
}

TEST(ProgressTest, CountsOutcomesByName) {
  ProgressTracker tracker("run", Mode::kDeviceHot, {}, 60);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 1);
  tracker.Add(StepOf(Rejected{"rule", ""}), ProgressTracker::Origin::kNew, 2);
  tracker.Add(StepOf(TimedOut{"run", 10}), ProgressTracker::Origin::kNew, 3);
  EXPECT_EQ(tracker.progress().outcomes.at("rejected"), 2);
  tracker.Add(StepOf(Rejected{std::string(kDeclinedRule), "cannot apply"}),
              ProgressTracker::Origin::kNew, 5);
  EXPECT_EQ(tracker.progress().outcomes.at("declined"), 1);
  EXPECT_EQ(tracker.progress().outcomes.size(), 3U);
  EXPECT_FALSE(tracker.progress().best_ratio.has_value());
}

}  // namespace

}  // namespace warpsmith::search
