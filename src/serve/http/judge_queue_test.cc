#include "serve/http/judge_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "base/clock.h"
#include "base/file.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith::serve {
namespace {

using State = store::ServedJobs::State;

Job QueueJob(int64_t x, int64_t y = 0) {
  const Candidate candidate = store::TestCandidate({"test", {{"x", x}, {"y", y}}});
  const Protocol protocol = Protocol::Screened();
  const Task task = store::TestTask();
  const Workload workload = store::TestWorkload();
  return {
      MeasurementKey(candidate, task, workload, protocol), task, workload, candidate, {}, protocol};
}

// A device whose jobs wait until the test opens a gate.
class GatedDevice : public Device {
 public:
  explicit GatedDevice(std::shared_future<void> gate) : gate_(std::move(gate)) {
    info_ = store::TestDevice();
    info_.needs_artifacts = false;
  }
  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override {
    for (Job& job : jobs) {
      order.push_back(job.key);
      at_once.push_back(order.size() - done_);
      most_at_once = std::max(most_at_once, at_once.back());
      jobs_.push_back(std::move(job));
    }
    return {};
  }
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) override {
    std::vector<Completed> completed;
    if (gate_.wait_for(patience) != std::future_status::ready) return completed;
    for (const Job& job : std::exchange(jobs_, {})) {
      ++done_;
      if (job.key == broken) return Error{ErrorCode::kUnavailable, "the GPU is gone", ""};
      completed.push_back({job.key, {Rejected{"rule", ""}, {}}, 0.25});
    }
    return completed;
  }

  std::vector<std::string> order;
  std::vector<size_t> at_once;  // with the device when each came
  size_t most_at_once = 0;
  std::string broken;

 private:
  const std::shared_future<void> gate_;
  DeviceInfo info_;
  std::vector<Job> jobs_;
  size_t done_ = 0;
};

class JudgeQueueTest : public testing::Test {
 protected:
  JudgeQueueTest() {
    options_.stop = [this] { return stops_.load(); };
  }
  std::unique_ptr<JudgeQueue> Open() {
    store_ = store::DatabaseStore::Open(folder_.path() / "s.db", store::Durability::kProcessDeath)
                 .value();
    jobs_ = std::make_unique<store::ServedJobs>(*store_, store::TestDevice(), store::ThisWorker());
    auto queue = std::make_unique<JudgeQueue>(
        [this](bool anew) -> Result<search::Seams> {
          if (device_ == nullptr || anew) {
            auto fresh = std::make_unique<GatedDevice>(gate_.get_future().share());
            if (device_ != nullptr) fresh->order = device_->order;
            gate_ = {};
            if (is_open_) gate_.set_value();
            device_ = std::move(fresh);
          }
          return search::Seams{*device_};
        },
        *jobs_, options_);
    return queue;
  }
  // As if a server had been killed while it worked on these.
  void KilledAtWorkOn(std::span<const Job> jobs, int times) {
    const auto store =
        store::DatabaseStore::Open(folder_.path() / "s.db", store::Durability::kProcessDeath)
            .value();
    const std::string dead =
        store::ThisWorker().substr(0, store::ThisWorker().find(':')) + ":999999999:1";
    store::ServedJobs before(*store, store::TestDevice(), dead);
    ASSERT_TRUE(before.Accept("r", jobs).ok());
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(before.TakeUnfinished()->size(), jobs.size());
      for (const Job& job : jobs) ASSERT_TRUE(before.Begin(job.key).ok());
    }
  }
  static void WaitFor(JudgeQueue& queue, const std::vector<std::string>& keys) {
    std::promise<void> done;
    queue.Wait(keys, false, 1000, [&] { done.set_value(); });
    done.get_future().wait();
  }
  static std::string OutcomeOf(JudgeQueue& queue, const Job& job) {
    const auto found = queue.Find(job.key).value();
    return found.completed ? Describe(found.completed->verdict.outcome) : "";
  }
  void OpenGate() {
    is_open_ = true;
    gate_.set_value();
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("queue").value();
  std::atomic<bool> stops_{false}, is_open_{false};
  JudgeQueueOptions options_;
  std::promise<void> gate_;
  std::unique_ptr<GatedDevice> device_;
  std::unique_ptr<store::DatabaseStore> store_;
  std::unique_ptr<store::ServedJobs> jobs_;
};

class OpenJudgeQueueTest : public JudgeQueueTest {
 protected:
  OpenJudgeQueueTest() {
    is_open_ = true;
    gate_.set_value();
  }
};

TEST_F(OpenJudgeQueueTest, TheSameKeyIsJudgedOnceAndStays) {
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  const Job job = QueueJob(1);
  ASSERT_TRUE(queue->Submit("a", {}, {job, job}).ok());
  ASSERT_TRUE(queue->Submit("b", {}, {job}).ok());
  WaitFor(*queue, {job.key});
  EXPECT_EQ(OutcomeOf(*queue, job), "rejected: rule");
  ASSERT_TRUE(queue->Submit("c", {}, {job}).ok());
  WaitFor(*queue, {job.key});
  EXPECT_EQ(queue->Counts().judged, 1);
}

TEST_F(OpenJudgeQueueTest, AJobOnWhichTwoWorkersDiedIsAVerdict) {
  const std::vector<Job> poison = {QueueJob(1)};
  KilledAtWorkOn(poison, 2);
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  WaitFor(*queue, {poison[0].key});
  EXPECT_EQ(OutcomeOf(*queue, poison[0]),
            "failed to run: judge: worker-died, two workers died while they judged it");
  stops_ = true;
  queue->Join();
  EXPECT_TRUE(device_->order.empty());
}

TEST_F(OpenJudgeQueueTest, WhatAnotherServerLeftBehindIsJudgedWhenItIsAskedFor) {
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  const std::vector<Job> left = {QueueJob(1), QueueJob(2)};
  KilledAtWorkOn(left, 1);
  ASSERT_TRUE(queue->Submit("a", {}, left).ok());
  WaitFor(*queue, {left[0].key, left[1].key});
  for (const Job& job : left) EXPECT_EQ(OutcomeOf(*queue, job), "rejected: rule");
}

TEST_F(OpenJudgeQueueTest, WhatAnotherServerHasAtWorkIsWaitedFor) {
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  const Job job = QueueJob(1);
  const auto store =
      store::DatabaseStore::Open(folder_.path() / "s.db", store::Durability::kProcessDeath).value();
  store::ServedJobs other(*store, store::TestDevice(), "another-host:1:1");
  ASSERT_TRUE(other.Accept("r", std::vector{job}).ok());
  ASSERT_TRUE(queue->Submit("a", {}, {job}).ok());
  WaitFor(*queue, {job.key});  // until it was found to be another's
  const double begun = MonotonicSeconds();
  WaitFor(*queue, {job.key});
  EXPECT_GE(MonotonicSeconds() - begun, 0.3) << "clients would ask without a pause";
  EXPECT_EQ(OutcomeOf(*queue, job), "");
}

TEST_F(OpenJudgeQueueTest, AfterADeathWhatWasAtWorkIsJudgedAlone) {
  const std::vector<Job> suspects = {QueueJob(1), QueueJob(2), QueueJob(3)};
  KilledAtWorkOn(suspects, 1);
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  WaitFor(*queue, {suspects[0].key, suspects[1].key, suspects[2].key});
  for (const Job& job : suspects) EXPECT_EQ(OutcomeOf(*queue, job), "rejected: rule");
  stops_ = true;
  queue->Join();
  EXPECT_EQ(device_->order.size(), 3U);
  EXPECT_EQ(device_->most_at_once, 1U);
}

TEST_F(OpenJudgeQueueTest, NobodyIsJudgedBesideASuspect) {
  KilledAtWorkOn(std::vector{QueueJob(1)}, 1);
  const auto queue = Open();
  const std::vector<Job> innocent = {QueueJob(2), QueueJob(3)};
  ASSERT_TRUE(queue->Submit("", {}, innocent).ok());
  ASSERT_TRUE(queue->Start().ok());
  WaitFor(*queue, {QueueJob(1).key, innocent[0].key, innocent[1].key});
  stops_ = true;
  queue->Join();
  const auto at = std::ranges::find(device_->order, QueueJob(1).key) - device_->order.begin();
  EXPECT_EQ(device_->at_once.at(static_cast<size_t>(at)), 1U);
  const bool is_last = at + 1 == std::ssize(device_->order);
  if (!is_last) {
    EXPECT_EQ(device_->at_once.at(static_cast<size_t>(at) + 1), 1U);
  }
}

TEST_F(OpenJudgeQueueTest, AWorkerThatCannotBeKilledIsQuarantinedWithItsGpu) {
  std::atomic<bool> is_stuck{false};
  std::atomic<int> opened{0};
  options_.quarantine = [&]() -> Status {
    if (!is_stuck) return {};
    return Error{ErrorCode::kUnavailable, "process 7 does not die", ""};
  };
  const std::vector<Job> jobs = {QueueJob(1), QueueJob(2)};
  const auto unused = Open();
  JudgeQueue queue(
      [&](bool anew) -> Result<search::Seams> {
        if (device_ == nullptr || anew) {
          std::promise<void> open;
          open.set_value();
          device_ = std::make_unique<GatedDevice>(open.get_future().share());
          is_stuck = ++opened == 1;  // the first device's worker
          if (is_stuck) device_->broken = jobs[0].key;
        }
        return search::Seams{*device_};
      },
      *jobs_, options_);
  ASSERT_TRUE(queue.Submit("", {}, {jobs[0]}).ok());
  ASSERT_TRUE(queue.Start().ok());
  WaitFor(queue, {jobs[0].key});
  EXPECT_EQ(OutcomeOf(queue, jobs[0]), "inconclusive: the GPU is gone");
  EXPECT_EQ(queue.Ready().error().message, "process 7 does not die");
  const Status refused = queue.Submit("", {}, {jobs[1]});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kAwaiting);
  EXPECT_EQ(opened, 1) << "the device is held, and not opened again";
  is_stuck = false;
  ASSERT_TRUE(queue.Submit("", {}, {jobs[1]}).ok());
  WaitFor(queue, {jobs[1].key});
  EXPECT_EQ(OutcomeOf(queue, jobs[1]), "rejected: rule");
  EXPECT_EQ(opened, 2);
}

TEST_F(OpenJudgeQueueTest, WhatNeedsNoDeviceDoesNotSeeIt) {
  options_.known = [](const Job&) { return Outcome(Inconclusive{"not recorded"}); };
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  const Job job = QueueJob(1);
  ASSERT_TRUE(queue->Submit("", {}, {job}).ok());
  WaitFor(*queue, {job.key});
  EXPECT_EQ(OutcomeOf(*queue, job), "inconclusive: not recorded");
  stops_ = true;
  queue->Join();
  EXPECT_TRUE(device_->order.empty());
}

TEST_F(OpenJudgeQueueTest, ADeadlineThatPassedIsNoVerdictOnTheCandidate) {
  const auto queue = Open();
  const Job job = QueueJob(1);
  ASSERT_TRUE(queue->Submit("", -1, {job}).ok());
  ASSERT_TRUE(queue->Start().ok());
  WaitFor(*queue, {job.key});
  EXPECT_EQ(OutcomeOf(*queue, job), "inconclusive: its deadline passed before it was begun");
}

TEST_F(OpenJudgeQueueTest, ReadinessIsWhatTheProbeSays) {
  std::promise<void> probed;
  std::atomic<int> probes{0};
  options_.probe = [&](const search::Seams&) -> Status {
    if (probes++ == 0) return Error{ErrorCode::kUnavailable, "the GPU is gone", ""};
    if (probes == 2) probed.set_value();
    return {};
  };
  const auto queue = Open();
  EXPECT_FALSE(queue->Ready().ok());
  ASSERT_TRUE(queue->Start().ok());
  const auto again = probed.get_future();
  while (again.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    EXPECT_FALSE(queue->Ready().ok() && probes < 2);  // asks for another probe
  }
  std::promise<void> idle;
  queue->Post([&] { idle.set_value(); });
  idle.get_future().wait();
  EXPECT_TRUE(queue->Ready().ok());
}

TEST_F(JudgeQueueTest, ARunThatAsksForMuchKeepsNoOtherWaiting) {
  options_.window = 1;
  const auto queue = Open();
  std::vector<Job> many;
  for (int64_t i = 0; i < 20; ++i) many.push_back(QueueJob(i));
  const Job other = QueueJob(0, 1);
  ASSERT_TRUE(queue->Submit("greedy", {}, many).ok());
  ASSERT_TRUE(queue->Submit("modest", {}, {other}).ok());
  OpenGate();
  ASSERT_TRUE(queue->Start().ok());
  WaitFor(*queue, {many.back().key, other.key});
  stops_ = true;
  queue->Join();
  EXPECT_EQ(device_->order.at(1), other.key);
}

TEST_F(JudgeQueueTest, ALineWithoutRoomTakesAllOrNothing) {
  options_.capacity = 2;
  const auto queue = Open();
  const Status refused = queue->Submit("", {}, {QueueJob(1), QueueJob(2), QueueJob(3)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  EXPECT_EQ(queue->Find(QueueJob(1).key)->state, State::kUnknown);
  ASSERT_TRUE(queue->Submit("", {}, {QueueJob(1), QueueJob(2)}).ok());
  EXPECT_TRUE(queue->Submit("", {}, {QueueJob(2)}).ok());  // takes no room
  EXPECT_FALSE(queue->Submit("", {}, {QueueJob(3)}).ok());
  EXPECT_GE(queue->RetryAfterSeconds(), 1);
}

TEST_F(JudgeQueueTest, AnEndKeepsWhatWasTakenOn) {
  std::vector<Job> jobs;
  for (int64_t i = 0; i < 6; ++i) jobs.push_back(QueueJob(i));
  {
    const auto queue = Open();
    ASSERT_TRUE(queue->Submit("", {}, jobs).ok());
    stops_ = true;
    ASSERT_TRUE(queue->Start().ok());
    EXPECT_EQ(queue->Submit("", {}, {QueueJob(9)}).error().code, ErrorCode::kInterrupted);
    std::promise<void> ended;
    queue->Wait({jobs[0].key}, false, 1000, [&] { ended.set_value(); });
    ended.get_future().wait();
    queue->Join();
  }
  stops_ = false;
  OpenGate();
  const auto queue = Open();
  ASSERT_TRUE(queue->Start().ok());
  std::vector<std::string> keys;
  for (const Job& job : jobs) keys.push_back(job.key);
  WaitFor(*queue, keys);
  for (const Job& job : jobs) EXPECT_EQ(OutcomeOf(*queue, job), "rejected: rule");
}

TEST_F(JudgeQueueTest, ADeviceThatFailsIsOpenedAnewAndOnlyTheGuiltyJobIsGivenUp) {
  const std::vector<Job> jobs = {QueueJob(1), QueueJob(2)};
  const auto queue = Open();
  int opened = 0;
  JudgeQueue watched(
      [&](bool anew) -> Result<search::Seams> {
        if (device_ == nullptr || anew) {
          ++opened;
          std::promise<void> open;
          open.set_value();
          device_ = std::make_unique<GatedDevice>(open.get_future().share());
          device_->broken = jobs[0].key;
        }
        return search::Seams{*device_};
      },
      *jobs_, options_);
  ASSERT_TRUE(watched.Submit("", {}, jobs).ok());
  ASSERT_TRUE(watched.Start().ok());
  WaitFor(watched, {jobs[0].key, jobs[1].key});
  EXPECT_EQ(OutcomeOf(watched, jobs[0]), "inconclusive: the GPU is gone");
  EXPECT_EQ(OutcomeOf(watched, jobs[1]), "rejected: rule");
  EXPECT_GE(opened, 2);
}

}  // namespace
}  // namespace warpsmith::serve
