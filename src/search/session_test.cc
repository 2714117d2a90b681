#include "search/session.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <future>
#include <vector>

#include "search/tests/seams.h"

namespace warpsmith::search {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Candidate> Candidates(int64_t begin, int64_t end) {
  std::vector<Candidate> candidates;
  for (int64_t i = begin; i < end; ++i) candidates.push_back(NumberedCandidate(i));
  return candidates;
}

// Whose lease another process holds from step `taken_from` on.
class SharedStore : public MemoryStore {
 public:
  Result<JobLease> LeaseJob(const std::string& run, int64_t index, const std::string& key,
                            const std::string& worker) override {
    if (index >= taken_from) return Error{ErrorCode::kBusy, "another process has it", ""};
    return MemoryStore::LeaseJob(run, index, key, worker);
  }
  int64_t taken_from = 1000;
};

// Breaks down once it has judged `breaks_after`. On the workload "hidden" candidate 1 is wrong and
// candidate 2 cannot be judged.
class TestDevice : public BackwardDevice {
 public:
  Status Submit(std::vector<Job> jobs) override {
    for (const Job& job : jobs) {
      on_hidden_[job.key] = job.workload.name == "hidden";
      if (on_hidden_[job.key]) hidden.push_back(job);
    }
    return BackwardDevice::Submit(std::move(jobs));
  }
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) override {
    if (judged().size() >= breaks_after) return Error{ErrorCode::kUnavailable, "GPU is lost", ""};
    std::vector<Completed> answers = TRY(BackwardDevice::Collect(patience));
    for (Completed& answer : answers) {
      if (on_hidden_[answer.key]) answer.verdict.outcome = Hidden(answer);
    }
    return answers;
  }
  size_t breaks_after = 1000;
  std::vector<Job> hidden;  // those on that workload

 private:
  static Outcome Hidden(const Completed& answer) {
    const auto& mode = std::get<Passed>(answer.verdict.outcome).timings.front().modes.front();
    if (mode.candidate.median_us == 99) return Incorrect{"poison", "says sizes", 3, 1, 7};
    if (mode.candidate.median_us == 98) return Inconclusive{"the judge's own trouble"};
    return answer.verdict.outcome;
  }
  std::map<std::string, bool> on_hidden_;
};

class SessionTest : public testing::Test {
 protected:
  static Question TestQuestion() {
    Question question;
    question.task.name = "task";
    question.workload.name = "shown";
    question.protocol = Protocol::Screened();
    return question;
  }
  Seams TestSeams() { return {device_, &compiler_, &store_}; }

  // The candidates' numbers as their verdicts come.
  OnJudged Note() {
    return [this](const Judged& judged) -> Result<bool> {
      delivered_.push_back(std::stoi(judged.step.candidate.sources.at("k.cu")));
      judged_.push_back(judged);
      return true;
    };
  }
  // As steps of the run "run", with what an earlier call has spent.
  Session InRun(Spending& spending, int64_t next = 0) {
    return Session(TestQuestion(), TestSeams(), {.compile_threads = 2},
                   RunSteps{"run", "worker", next, &spending});
  }

  SharedStore store_;
  TestDevice device_;
  FifthFails compiler_;
  std::vector<int> delivered_;
  std::vector<Judged> judged_;
};

TEST_F(SessionTest, DeliversVerdictsInTheOrderOfTheCandidates) {
  Session session(TestQuestion(), TestSeams());
  const auto all = session.Evaluate(Candidates(0, 7), Note());
  ASSERT_TRUE(all.ok()) << all.error().Line();
  EXPECT_TRUE(*all);
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(OutcomeName(judged_[4].step.verdict.outcome), "compile-failed");
  EXPECT_EQ(judged_[6].step.index, 6);
  EXPECT_EQ(judged_[6].step.cost.gpu_seconds, 0.5);
  EXPECT_EQ(judged_[6].key, session.question().JobOf(NumberedCandidate(6)).key);
}

TEST_F(SessionTest, BeginsNoMoreThanItsWindowAhead) {
  SessionOptions options;
  options.window = 3;
  options.device_queue = 2;
  Session session(TestQuestion(), TestSeams(), options);
  int64_t made = 0;
  const NextJob next = [&]() -> Result<std::optional<Job>> {
    EXPECT_LE(made - static_cast<int64_t>(delivered_.size()), 2) << "before another is made";
    if (made == 20) return std::optional<Job>();
    return std::optional(session.question().JobOf(NumberedCandidate(made++)));
  };
  EXPECT_TRUE(session.Evaluate(next, Note()).value());
  EXPECT_EQ(delivered_.size(), 20U);
  EXPECT_LE(device_.most_at_once(), 2U);
}

TEST_F(SessionTest, WhatTheStoreKnowsIsNotJudgedAgain) {
  SessionOptions options;
  options.keeps_verdicts = true;
  ASSERT_TRUE(
      Session(TestQuestion(), TestSeams(), options).Evaluate(Candidates(0, 3), Note()).ok());
  EXPECT_EQ(device_.judged().size(), 3U);
  Session again(TestQuestion(), TestSeams(), options);
  ASSERT_TRUE(again.Evaluate(Candidates(1, 4), Note()).ok());
  EXPECT_EQ(device_.judged().size(), 4U);
  EXPECT_EQ(compiler_.compiled(), 4);
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2, 1, 2, 3));
  EXPECT_EQ(judged_[3].step.cost.gpu_seconds, 0) << "paid for by the first";
}

TEST_F(SessionTest, KeepsNothingUnlessItIsToldTo) {
  Session first(TestQuestion(), TestSeams());
  ASSERT_TRUE(first.Evaluate(Candidates(0, 2), Note()).ok());
  Session again(TestQuestion(), {device_, &compiler_, nullptr});
  ASSERT_TRUE(again.Evaluate(Candidates(0, 2), Note()).ok());
  EXPECT_EQ(device_.judged().size(), 4U);
}

TEST_F(SessionTest, TheSameContentTwiceIsJudgedOnceWhereItIsKept) {
  SessionOptions options;
  options.keeps_verdicts = true;
  Session session(TestQuestion(), TestSeams(), options);
  const std::array twice = {NumberedCandidate(1), NumberedCandidate(2), NumberedCandidate(1)};
  ASSERT_TRUE(session.Evaluate(twice, Note()).ok());
  EXPECT_THAT(delivered_, ElementsAre(1, 2, 1));
  EXPECT_EQ(device_.judged().size(), 2U);
}

TEST_F(SessionTest, BeginsNothingMoreWhereTheCallerHasEnough) {
  SessionOptions options;
  options.device_queue = 1;
  Session session(TestQuestion(), TestSeams(), options);
  const auto all = session.Evaluate(Candidates(0, 50), [&](const Judged& judged) -> Result<bool> {
    TRY(Note()(judged));
    return delivered_.size() < 3;
  });
  EXPECT_FALSE(all.value());
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2));
  EXPECT_EQ(device_.judged().size(), 3U);
}

TEST_F(SessionTest, DeliversWhatTheDeviceHasWhenItIsStopped) {
  SessionOptions options;
  options.device_queue = 2;
  options.stop = [this] { return device_.most_at_once() == 2; };
  Session session(TestQuestion(), TestSeams(), options);
  EXPECT_FALSE(session.Evaluate(Candidates(0, 50), Note()).value());
  const auto passed = std::ranges::count_if(judged_, [](const Judged& judged) {
    return std::holds_alternative<Passed>(judged.step.verdict.outcome);
  });
  EXPECT_EQ(static_cast<size_t>(passed), device_.judged().size());
  EXPECT_LT(delivered_.size(), 50U);
}

TEST_F(SessionTest, ADeviceThatFailsMidwayLosesNoVerdictBeforeIt) {
  device_.breaks_after = 4;
  SessionOptions options;
  options.keeps_verdicts = true;
  options.device_queue = 1;
  Session session(TestQuestion(), TestSeams(), options);
  const auto all = session.Evaluate(Candidates(0, 9), Note());
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, "GPU is lost");
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2, 3, 4)) << "4 does not compile";

  device_.breaks_after = 1000;
  Session again(TestQuestion(), TestSeams(), options);
  ASSERT_TRUE(again.Evaluate(Candidates(0, 9), Note()).ok());
  EXPECT_EQ(device_.judged().size(), 8U) << "none of them twice";
}

TEST_F(SessionTest, ABrokenToolchainIsToldInItsTurn) {
  compiler_.broken_at = 3;
  Session session(TestQuestion(), TestSeams());
  const auto all = session.Evaluate(Candidates(0, 9), Note());
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2));
  EXPECT_EQ(device_.judged().size(), 3U) << "nothing behind it is measured in vain";
}

TEST_F(SessionTest, CommitsTheStepsOfARunWithWhatTheyCost) {
  Spending spending{Budget()};
  spending.Charge(2);  // a profile
  Session session = InRun(spending, 5);
  session.Add(session.question().JobOf(NumberedCandidate(1)), {0, 0, 0, 100, 0.25});
  session.Add(session.question().JobOf(NumberedCandidate(2)), {}, Rejected{"reply", "prose"});
  while (!session.is_over()) {
    ASSERT_TRUE(session.Work().ok());
    while (session.Next().value()) {
    }
  }
  const std::vector<Step> steps = store_.Steps("run").value();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].index, 5);
  EXPECT_EQ(steps[0].cost.tokens, 100);
  EXPECT_EQ(steps[0].cost.gpu_seconds, 2.5);
  EXPECT_EQ(steps[1].index, 6);
  EXPECT_EQ(steps[1].cost.gpu_seconds, 0);
  EXPECT_EQ(OutcomeName(steps[1].verdict.outcome), "rejected");
  EXPECT_EQ(spending.spent().evaluations, 2);
  EXPECT_EQ(spending.spent().gpu_seconds, 2.5);
}

TEST_F(SessionTest, AStepThatAnotherProcessHasLeasedIsAnErrorBeforeItIsJudged) {
  store_.taken_from = 2;
  Spending spending{Budget()};
  Session session = InRun(spending);
  const auto all = session.Evaluate(Candidates(0, 4), Note());
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kBusy);
  EXPECT_TRUE(device_.judged().empty());
}

TEST_F(SessionTest, HoldsARunToItsBudget) {
  Budget budget;
  budget.gpu_seconds = 2.2;
  Spending spending(budget);
  spending.Add({1, 0.5, 0, 0, 0});
  Session session = InRun(spending, 1);
  EXPECT_FALSE(session.Evaluate(Candidates(0, 4), Note()).value());
  EXPECT_THAT(delivered_, ElementsAre(0, 1, 2));
  EXPECT_EQ(session.limit(), "gpu");
  EXPECT_TRUE(session.is_stopped());
  EXPECT_EQ(spending.spent().gpu_seconds, 2);
}

TEST_F(SessionTest, BeginsNoStepBeyondTheEvaluations) {
  Budget budget;
  budget.evaluations = 2;
  Spending spending(budget);
  Session session = InRun(spending);
  EXPECT_FALSE(session.Evaluate(Candidates(0, 4), Note()).value());
  EXPECT_EQ(session.limit(), "evals");
  EXPECT_EQ(device_.judged().size(), 2U);
  EXPECT_EQ(compiler_.compiled(), 2);
}

TEST_F(SessionTest, WhatPassesIsJudgedOnHiddenWorkloadsToo) {
  Question question = TestQuestion();
  Workload hidden;
  hidden.name = "hidden";
  hidden.hidden = true;
  hidden.sizes = {{"N", 7}};
  question.task.workloads = {question.workload, hidden};
  question.task.baselines = {"torch-best"};
  SessionOptions options;
  options.keeps_verdicts = true;
  options.checks_hidden = true;
  Session session(question, TestSeams(), options);
  std::vector<Candidate> candidates = Candidates(0, 5);
  candidates[3].plan.valid_when = Expression::Literal("N < 7");
  ASSERT_TRUE(session.Evaluate(candidates, Note()).ok());
  EXPECT_TRUE(std::holds_alternative<Passed>(judged_[0].step.verdict.outcome));
  EXPECT_EQ(judged_[0].step.cost.gpu_seconds, 1) << "both are paid for";
  const auto& wrong = std::get<Incorrect>(judged_[1].step.verdict.outcome);
  EXPECT_EQ(wrong.detector, "hidden-workload");
  EXPECT_THAT(Describe(judged_[1].step.verdict.outcome), testing::Not(HasSubstr("says sizes")));
  EXPECT_TRUE(std::holds_alternative<Passed>(judged_[2].step.verdict.outcome)) << "no fault of its";
  EXPECT_EQ(OutcomeName(judged_[3].step.verdict.outcome), "rejected");
  EXPECT_EQ(OutcomeName(judged_[4].step.verdict.outcome), "compile-failed");
  EXPECT_EQ(device_.judged().size(), 7U) << "four, and three of them on the hidden sizes";
  ASSERT_EQ(device_.hidden.size(), 3U);
  EXPECT_TRUE(device_.hidden[0].task.baselines.empty()) << "right or wrong is all that is asked";
  EXPECT_EQ(device_.hidden[0].protocol.max_rounds, 1);
}

// Candidate 0 does not compile before it may.
class SlowFirst : public FifthFails {
 public:
  Result<CompileOutcome> Compile(const Candidate& candidate,
                                 const std::string& architecture) override {
    if (candidate.sources.at("k.cu") == "0") may_end.get_future().wait();
    return FifthFails::Compile(candidate, architecture);
  }
  std::promise<void> may_end;
};

TEST_F(SessionTest, InAnyOrderASlowCompileHoldsUpNobody) {
  SlowFirst compiler;
  SessionOptions options;
  options.any_order = true;
  options.compile_threads = 2;
  Session session(TestQuestion(), {device_, &compiler}, options);
  const auto done = session.Evaluate(Candidates(0, 4), [&](const Judged& judged) -> Result<bool> {
    TRY(Note()(judged));
    if (delivered_.size() == 3) compiler.may_end.set_value();
    return true;
  });
  ASSERT_TRUE(done.ok() && *done);
  ASSERT_EQ(delivered_.size(), 4U);
  EXPECT_EQ(delivered_.back(), 0);
  EXPECT_EQ(judged_.back().step.index, 0);
}

Cost Gpu(double seconds) { return {1, seconds, seconds, 0, 0}; }

TEST(SpendingTest, CountsWhatIsUnderWayAgainstEvaluations) {
  Budget budget;
  budget.evaluations = 3;
  Spending spending(budget);
  EXPECT_FALSE(spending.StopsStart(2).has_value());
  EXPECT_EQ(spending.StopsStart(3), "evals");
  spending.Add(Gpu(1));
  EXPECT_FALSE(spending.StopsStart(1).has_value());
  EXPECT_EQ(spending.StopsStart(2), "evals");
  spending.Add(Gpu(1));
  spending.Add(Gpu(1));
  EXPECT_EQ(spending.StopsStart(0), "evals");
  EXPECT_EQ(spending.StopsCommit(Gpu(0)), "evals");
}

TEST(SpendingTest, StartsOneAtATimeUntilItKnowsTheCost) {
  Budget budget;
  budget.gpu_seconds = 10;
  Spending spending(budget);
  EXPECT_FALSE(spending.StopsStart(0).has_value());
  EXPECT_TRUE(spending.StopsStart(1).has_value());
  spending.Add(Gpu(2));
  EXPECT_FALSE(spending.StopsStart(3).has_value());  // 2 + 4 * 2 = 10
  EXPECT_EQ(spending.StopsStart(4), "gpu");
}

TEST(SpendingTest, StopsBeforePassingALimit) {
  Budget budget;
  budget.gpu_seconds = 5;
  Spending spending(budget);
  spending.Add(Gpu(2));
  EXPECT_FALSE(spending.StopsCommit(Gpu(3)).has_value());
  EXPECT_EQ(spending.StopsCommit(Gpu(3.5)), "gpu");
  spending.Add(Gpu(2));
  EXPECT_EQ(spending.StopsStart(0), "gpu");        // would come to 6
  EXPECT_EQ(spending.StopsCommit(Gpu(1)), "gpu");  // would not have been started
  EXPECT_FALSE(spending.StopsCommit(Gpu(0)).has_value());
}

TEST(SpendingTest, WallTimeStopsStartsOnly) {
  Budget budget;
  budget.wall_seconds = 3;
  Spending spending(budget);
  spending.Add(Gpu(2));
  EXPECT_EQ(spending.StopsStart(0), "time");
  EXPECT_FALSE(spending.StopsCommit(Gpu(5)).has_value());  // it has been measured: keep it
}

}  // namespace

}  // namespace warpsmith::search
