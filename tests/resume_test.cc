// A run that is killed with SIGKILL at random instants and resumed each time ends in the same
// store, to the byte of its canonical dump, as one that was left alone.
//
// WARPSMITH_KILLS sets how often; by default 200 times, 40 in builds that are not optimized.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "search/loop.h"
#include "store/database_store.h"
#include "store/recorded_device.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith {
namespace {

constexpr int kSide = 12;
constexpr int64_t kEvaluations = 100;

// Half the time a neighbour of the best point so far, else anything: what it proposes depends on
// every step it has observed, so one that is lost, doubled or out of order shows.
class ClimbingProposer : public Proposer {
 public:
  ClimbingProposer(const store::ReplaySpace& space, uint64_t seed)
      : space_(space), random_(seed, "climbing") {}
  std::string_view Name() const override { return "climbing"; }

  Result<std::vector<Proposal>> Propose(int n) override {
    std::vector<Proposal> proposals;
    while (static_cast<int>(proposals.size()) < n && proposed_.size() < space_.space.size()) {
      const int index = Pick();
      if (!proposed_.insert(index).second) continue;
      Candidate candidate = TRY(space_.make(space_.space.points()[static_cast<size_t>(index)]));
      proposals.push_back({std::move(candidate), {}, {}});
    }
    return proposals;
  }

  void Observe(const Step& step) override {
    const Provenance& at = step.candidate.provenance;
    const double ratio = RatioToPrimary(step.verdict, Mode::kDeviceHot).value_or(0);
    if (ratio <= best_ratio_) return;
    best_ratio_ = ratio;
    best_ = space_.space.Find({at.family, at.config});
  }

 private:
  int Pick() {
    if (best_ >= 0 && random_.Below(2) == 0) {
      const std::vector<int> neighbours = space_.space.Neighbours(best_);
      return neighbours[random_.Below(neighbours.size())];
    }
    return static_cast<int>(random_.Below(space_.space.size()));
  }

  const store::ReplaySpace& space_;
  Random random_;
  std::set<int> proposed_;
  int best_ = -1;
  double best_ratio_ = 0;
};

int KillsWanted() {
  if (const char* wanted = std::getenv("WARPSMITH_KILLS")) return std::atoi(wanted);
#ifdef __OPTIMIZE__
  return 200;
#else
  return 40;
#endif
}

search::LoopRequest RequestFor(const store::RecordedDevice& device, uint64_t seed) {
  const store::ReplaySpace& space = device.Spaces().front();
  search::LoopRequest request;
  request.run.id = "run";
  request.run.task = space.task;
  request.run.workload = space.workload;
  request.run.protocol = Protocol::Screened();
  request.run.proposer = "climbing";
  request.run.seed = seed;
  request.run.batch = 8;
  request.run.device = device.Info();
  request.run.space = space.space.name();
  request.worker = store::ThisWorker();
  request.budget.evaluations = kEvaluations;
  return request;
}

class ResumeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_folder_ = new TemporaryDirectory(TemporaryDirectory::Create("resume").value());
    const Status written = store::WriteTestRecording(Recording(), kSide);
    ASSERT_TRUE(written.ok()) << written.error().Line();
  }
  static void TearDownTestSuite() { delete shared_folder_; }
  static std::filesystem::path Recording() { return shared_folder_->path() / "h200.wsrec"; }
  std::filesystem::path StorePath(const std::string& name) const { return folder_.path() / name; }

  Result<search::LoopResult> RunOn(const std::string& name, uint64_t seed,
                                   const search::LoopCallbacks& callbacks = {},
                                   int64_t evaluations = kEvaluations) const {
    auto device = TRY(store::RecordedDevice::Open(Recording()));
    auto store = TRY(store::DatabaseStore::Open(StorePath(name), store::Durability::kProcessDeath));
    ClimbingProposer proposer(device->Spaces().front(), seed);
    search::LoopRequest request = RequestFor(*device, seed);
    request.budget.evaluations = evaluations;
    return search::RunLoop(request, proposer, nullptr, *device, *store, callbacks);
  }

  std::string Dump(const std::string& name) const {
    auto store =
        store::DatabaseStore::Open(StorePath(name), store::Durability::kProcessDeath).value();
    return store::CanonicalDump(*store).value();
  }

  // Runs in a child that is killed after `delay_us`; true when it ended by itself before.
  bool RunKilled(const std::string& name, uint64_t seed, uint64_t delay_us) const {
    const pid_t child = fork();
    if (child == 0) {
      const auto result = RunOn(name, seed);
      if (!result.ok()) std::fprintf(stderr, "%s\n", result.error().Line().c_str());
      _exit(result.ok() ? 0 : 1);
    }
    usleep(static_cast<useconds_t>(delay_us));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
  }

  int64_t StepsIn(const std::string& name) const {
    auto store =
        store::DatabaseStore::Open(StorePath(name), store::Durability::kProcessDeath).value();
    store::Statement count = store->connection().Prepare("SELECT count(*) FROM step");
    return count.Next().value() ? count.Int(0) : 0;
  }

  static inline TemporaryDirectory* shared_folder_ = nullptr;
  TemporaryDirectory folder_ = TemporaryDirectory::Create("resume").value();
};

TEST_F(ResumeTest, KilledAnywhereEndsAsIfLeftAlone) {
  const int kills_wanted = KillsWanted();
  Random random = Random::Secret();
  int kills = 0;
  int kills_between_steps = 0;
  for (uint64_t seed = 1; kills < kills_wanted; ++seed) {
    const std::string alone = "alone-" + std::to_string(seed);
    const int64_t began_ns = MonotonicNs();
    ASSERT_TRUE(RunOn(alone, seed).ok());
    const auto longest_us = static_cast<uint64_t>((MonotonicNs() - began_ns) / 1000);

    const std::string name = "killed-" + std::to_string(seed);
    int64_t steps = 0;
    while (kills < kills_wanted && !RunKilled(name, seed, random.Below(longest_us))) {
      ++kills;
      const int64_t steps_now = StepsIn(name);
      ASSERT_GE(steps_now, steps) << "steps were lost";
      if (steps_now > steps && steps_now < kEvaluations) ++kills_between_steps;
      steps = steps_now;
    }
    ASSERT_TRUE(RunOn(name, seed).ok());
    ASSERT_EQ(Dump(name), Dump(alone)) << "seed " << seed << " after " << kills << " kills";
  }
  RecordProperty("kills", kills);
  std::printf("%d kills, %d of them between a run's first and last step\n", kills,
              kills_between_steps);
  EXPECT_GT(kills_between_steps, kills / 10) << "the kills missed the writes";
}

TEST_F(ResumeTest, SpendsExactlyItsEvaluations) {
  const auto result = RunOn("store", 1, {}, 61);
  ASSERT_TRUE(result.ok()) << result.error().Line();
  EXPECT_EQ(result->steps, 61);
  EXPECT_EQ(result->reason, search::EndReason::kBudget);
  EXPECT_EQ(result->limit, "evals");
}

TEST_F(ResumeTest, ALargerBudgetGoesOnAsIfItHadBeenLargerAllAlong) {
  for (const int64_t evaluations : {0, 1, 37, 56, 57, 64, 100}) {
    ASSERT_TRUE(RunOn("grown", 3, {}, evaluations).ok());
  }
  ASSERT_TRUE(RunOn("alone", 3).ok());
  EXPECT_EQ(Dump("grown"), Dump("alone"));
}

TEST_F(ResumeTest, StopsWhenAskedAndKeepsWhatItHas) {
  int64_t seen = 0;
  search::LoopCallbacks callbacks;
  callbacks.on_progress = [&seen](const search::Progress& progress) {
    seen = progress.evaluations;
  };
  callbacks.stop = [&seen] { return seen >= 30; };
  const auto stopped = RunOn("stopped", 4, callbacks);
  ASSERT_TRUE(stopped.ok()) << stopped.error().Line();
  EXPECT_EQ(stopped->reason, search::EndReason::kInterrupted);
  EXPECT_GE(stopped->steps, 30);
  EXPECT_LT(stopped->steps, 60);
  const auto resumed = RunOn("stopped", 4);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->new_steps, kEvaluations - stopped->steps);
  ASSERT_TRUE(RunOn("alone", 4).ok());
  EXPECT_EQ(Dump("stopped"), Dump("alone"));
}

TEST_F(ResumeTest, RefusesAnotherSeed) {
  ASSERT_TRUE(RunOn("store", 5).ok());
  const auto other = RunOn("store", 6);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kConfig);
}

TEST_F(ResumeTest, CertifyingWhatWasNeverCertifiedIsRefusedInWords) {
  auto device = store::RecordedDevice::Open(Recording()).value();
  auto store =
      store::DatabaseStore::Open(StorePath("store"), store::Durability::kProcessDeath).value();
  const search::LoopRequest request = RequestFor(*device, 1);
  ClimbingProposer proposer(device->Spaces().front(), 1);
  const auto search = search::RunLoop(request, proposer, nullptr, *device, *store);
  ASSERT_TRUE(search.ok());
  ASSERT_EQ(search->best.size(), 3U);
  const auto refused = search::Certify(request, search->best, nullptr, *device, *store);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotRecorded);

  const auto certified =
      search::Certify(request, search->best, nullptr, *device, *store, {}, Protocol::Screened());
  ASSERT_TRUE(certified.ok()) << certified.error().Line();
  EXPECT_EQ(certified->steps.size(), 3U);
  EXPECT_EQ(certified->winner, 0U);
}

}  // namespace
}  // namespace warpsmith
