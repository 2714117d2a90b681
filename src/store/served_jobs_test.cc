#include "store/served_jobs.h"

#include <gtest/gtest.h>

#include "store/tests/database.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith::store {
namespace {

class ServedJobsTest : public OnEveryDatabase {
 protected:
  std::unique_ptr<DatabaseStore> Open() const {
    return DatabaseStore::Open(Where(), Durability::kProcessDeath).value();
  }
  static Job JobAt(int64_t x) {
    const Candidate candidate = TestCandidate({"test", {{"x", x}, {"y", 0}}});
    const Task task = TestTask();
    const Workload workload = TestWorkload();
    const Protocol protocol = Protocol::Screened();
    return {MeasurementKey(candidate, task, workload, protocol),
            task,
            workload,
            candidate,
            {},
            protocol};
  }
  static Completed Verdict(const Job& job, const std::string& rule) {
    return {job.key, {Rejected{rule, ""}, {}}, 0.5};
  }
  static std::string RuleOf(ServedJobs& jobs, const Job& job) {
    const auto found = jobs.Find(job.key).value();
    if (!found.completed) return "";
    return std::get<Rejected>(found.completed->verdict.outcome).rule;
  }

  const std::string dead_ = ThisWorker().substr(0, ThisWorker().find(':')) + ":999999999:1";
};
INSTANTIATE_TEST_SUITE_P(On, ServedJobsTest, testing::Bool(), DatabaseName);

TEST_P(ServedJobsTest, WhatWasAcceptedOutlivesTheServerAndIsTakenUpInOrder) {
  const std::vector<Job> asked = {JobAt(3), JobAt(1), JobAt(2)};
  {
    const auto store = Open();
    ServedJobs jobs(*store, TestDevice(), dead_);
    ASSERT_TRUE(jobs.Accept("run-a", asked).ok());
    ASSERT_TRUE(jobs.Accept("run-b", std::span(asked).first(1)).ok());  // once
    EXPECT_EQ(jobs.Begin(asked[1].key).value(), 1);
  }
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const auto taken = jobs.TakeUnfinished().value();
  ASSERT_EQ(taken.size(), 3U);
  for (size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i].job.key, asked[i].key);
    EXPECT_EQ(taken[i].run, "run-a");
    EXPECT_EQ(taken[i].attempts, i == 1 ? 1 : 0);
    const Job& job = taken[i].job;
    EXPECT_EQ(MeasurementKey(job.candidate, job.task, job.workload, job.protocol), job.key);
  }
}

TEST_P(ServedJobsTest, ALivingServersJobsAreLeftAlone) {
  const auto store = Open();
  ServedJobs theirs(*store, TestDevice(), "another-host:1:1");
  ASSERT_TRUE(theirs.Accept("", std::vector{JobAt(1)}).ok());
  ServedJobs ours(*store, TestDevice(), ThisWorker());
  EXPECT_TRUE(ours.TakeUnfinished()->empty());
  EXPECT_FALSE(ours.Begin(JobAt(1).key).ok());
}

TEST_P(ServedJobsTest, WhatADeadServerHoldsBecomesTheOneThatIsAsked) {
  const auto store = Open();
  const Job job = JobAt(1);
  ServedJobs dead(*store, TestDevice(), dead_);
  ASSERT_TRUE(dead.Accept("", std::vector{job}).ok());
  ASSERT_EQ(dead.Begin(job.key).value(), 1);
  ServedJobs ours(*store, TestDevice(), ThisWorker());
  EXPECT_FALSE(ours.Begin(job.key).ok());
  ASSERT_TRUE(ours.Accept("", std::vector{job}).ok());
  EXPECT_EQ(ours.Find(job.key)->attempts, 1);
  EXPECT_EQ(ours.Begin(job.key).value(), 2);
}

TEST_P(ServedJobsTest, TheFirstCommitWinsAndALateResultIsNeverTheAnswer) {
  const auto store = Open();
  const Job job = JobAt(1);
  ServedJobs first(*store, TestDevice(), dead_);
  ASSERT_TRUE(first.Accept("", std::vector{job}).ok());
  const int old = first.Begin(job.key).value();
  ServedJobs second(*store, TestDevice(), ThisWorker());
  ASSERT_EQ(second.TakeUnfinished()->size(), 1U);
  const int now = second.Begin(job.key).value();
  EXPECT_EQ(now, old + 1);
  EXPECT_FALSE(first.Finish(job, old, Verdict(job, "old")).value());  // while the new one runs
  EXPECT_EQ(RuleOf(second, job), "");
  EXPECT_TRUE(second.Finish(job, now, Verdict(job, "new")).value());
  EXPECT_FALSE(first.Finish(job, old, Verdict(job, "old")).value());  // and after it
  EXPECT_FALSE(second.Finish(job, now, Verdict(job, "twice")).value());
  EXPECT_EQ(RuleOf(second, job), "new");
  Statement late = store->connection().Prepare("SELECT count(*) FROM late_verdict");
  ASSERT_TRUE(late.Next().value());
  EXPECT_EQ(late.Int(0), 3);
}

TEST_P(ServedJobsTest, AServerThatEndsInPeaceDoesNotCountAsDead) {
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const Job job = JobAt(1);
  ASSERT_TRUE(jobs.Accept("", std::vector{job}).ok());
  ASSERT_EQ(jobs.Begin(job.key).value(), 1);
  ASSERT_TRUE(jobs.PutBack(job.key).ok());
  EXPECT_EQ(jobs.Find(job.key)->state, ServedJobs::State::kQueued);
  EXPECT_EQ(jobs.TakeUnfinished()->front().attempts, 0);
}

TEST_P(ServedJobsTest, WhatSaysNothingIsJudgedAnewAndWhatSaysSomethingIsNot) {
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const Job job = JobAt(1);
  ASSERT_TRUE(jobs.Accept("", std::vector{job}).ok());
  int attempt = jobs.Begin(job.key).value();
  ASSERT_TRUE(jobs.Finish(job, attempt, {job.key, {Inconclusive{"noise"}, {}}, 1}).value());
  EXPECT_EQ(jobs.Find(job.key)->state, ServedJobs::State::kDone);
  ASSERT_TRUE(jobs.Accept("", std::vector{job}).ok());
  EXPECT_EQ(jobs.Find(job.key)->state, ServedJobs::State::kQueued);
  attempt = jobs.Begin(job.key).value();
  EXPECT_EQ(attempt, 1);
  ASSERT_TRUE(jobs.Finish(job, attempt, Verdict(job, "rule")).value());
  ASSERT_TRUE(jobs.Accept("", std::vector{job}).ok());
  EXPECT_EQ(RuleOf(jobs, job), "rule");
  EXPECT_EQ(CandidateId(*jobs.CandidateOf(job.key).value()), CandidateId(job.candidate));
  DeviceInfo other = TestDevice();
  other.uuid = "GPU-other";
  ServedJobs elsewhere(*store, other, ThisWorker());
  EXPECT_EQ(elsewhere.Find(job.key)->state, ServedJobs::State::kUnknown);
}

ServedSample SampleOf(const std::string& group, const std::string& id, double reward,
                      std::optional<Candidate> candidate = std::nullopt) {
  ServedSample sample{"run", "t", "w",         "screened",   group,  id, "sha",
                      -3.5,  "",  "incorrect", std::nullopt, reward, {}};
  if (!candidate) return sample;
  sample.key = CandidateId(*candidate);
  sample.outcome = "passed";
  sample.ratio = 1 + reward;
  sample.interval = {reward, 2 + reward};
  sample.candidate = std::move(candidate);
  return sample;
}

TEST_P(ServedJobsTest, SamplesAreKeptOnceWithGroupAndLogProbability) {
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const std::vector<ServedSample> samples = {
      SampleOf("g", "a", 0.5, TestCandidate({"test", {{"x", 1}}})), SampleOf("g", "b", -1)};
  ASSERT_TRUE(jobs.KeepSamples(samples).ok());
  ASSERT_TRUE(jobs.KeepSamples(samples).ok());  // asked again after a lost answer
  Statement read = store->connection().Prepare(
      "SELECT COUNT(*), MIN(logprob_sum), MIN(group_name), MIN(prompt_sha256) FROM sample");
  ASSERT_TRUE(read.Next().value());
  EXPECT_EQ(read.Int(0), 2);
  EXPECT_EQ(read.Real(1), -3.5);
  EXPECT_EQ(read.Text(2), "g");
  EXPECT_EQ(read.Text(3), "sha");
}

TEST_P(ServedJobsTest, WhatPassedComesBackForPromptsTheLatestFirst) {
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const Candidate first = TestCandidate({"test", {{"x", 1}}});
  const Candidate second = TestCandidate({"test", {{"x", 2}}});
  ServedSample again = SampleOf("g2", "a", 0.5, first);
  again.candidate.reset();  // the key's candidate is there already
  ASSERT_TRUE(jobs.KeepSamples(std::vector<ServedSample>{SampleOf("g", "a", 0.5, first),
                                                         SampleOf("g", "b", 0.25, second),
                                                         SampleOf("g", "c", -1), again})
                  .ok());
  const auto passed = jobs.PassedSamples("t", "w", Level::kScreened, 8).value();
  ASSERT_EQ(passed.size(), 2U);
  EXPECT_EQ(passed[0].key, CandidateId(first));
  EXPECT_EQ(passed[0].ratio, 1.5);
  EXPECT_EQ(passed[0].interval.hi, 2.5);
  EXPECT_EQ(CandidateId(jobs.CandidateOfSample(passed[1]).value()), CandidateId(second));
  EXPECT_TRUE(jobs.PassedSamples("t", "w", Level::kCertified, 8).value().empty());
  EXPECT_TRUE(jobs.PassedSamples("other", "w", Level::kScreened, 8).value().empty());
  EXPECT_EQ(jobs.PassedSamples("t", "w", Level::kScreened, 1).value().size(), 1U);
}

TEST_P(ServedJobsTest, DifficultyIsMeasuredByGroups) {
  const auto store = Open();
  ServedJobs jobs(*store, TestDevice(), ThisWorker());
  const Candidate good = TestCandidate({"test", {{"x", 1}}});
  ASSERT_TRUE(jobs.KeepSamples(std::vector<ServedSample>{
                                   SampleOf("mixed", "a", 1.5, good), SampleOf("mixed", "b", -1),
                                   SampleOf("failed", "a", -1), SampleOf("failed", "b", -1),
                                   SampleOf("alone", "a", -1)})
                  .ok());
  const Difficulty difficulty = jobs.DifficultyOf("t", "w").value();
  EXPECT_EQ(difficulty.samples, 5);
  EXPECT_EQ(difficulty.passed, 1);
  EXPECT_EQ(difficulty.faster, 1);
  EXPECT_EQ(difficulty.groups, 2);
  EXPECT_EQ(difficulty.mixed, 1);
  EXPECT_EQ(jobs.DifficultyOf("t", "other").value().samples, 0);
}

}  // namespace
}  // namespace warpsmith::store
