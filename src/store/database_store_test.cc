#include "store/database_store.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "core/reward.h"
#include "core/serialize.h"
#include "store/connection.h"
#include "store/run_memos.h"
#include "store/store_check.h"
#include "store/tests/database.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith::store {
namespace {

using testing::HasSubstr;

constexpr int kStoreSide = 8;

RunRecord TestRun(const std::string& id = "run") {
  RunRecord run;
  run.id = id;
  run.command = "warpsmith hgemm tune";
  run.task = TestTask();
  run.workload = TestWorkload();
  run.protocol = Protocol::Screened();
  run.proposer = "random";
  run.seed = 0xffff'ffff'ffff'fff7;
  run.batch = 16;
  run.device = TestDevice();
  run.space = "test";
  return run;
}

Step StepAt(int64_t index) {
  const Point point = TestSpace(kStoreSide).points()[static_cast<size_t>(index)];
  Step step;
  step.index = index;
  step.candidate = TestCandidate(point);
  step.verdict = TestVerdict(point, kStoreSide);
  step.terms = TermsOf(step.candidate, step.verdict, Mode::kDeviceHot);
  step.reward = RewardOf(step.candidate, step.verdict, kSearchReward);
  step.cost = {1, 0.125, 0.5, 0, 0};
  return step;
}

std::string KeyAt(int64_t index) {
  return TestJob(TestSpace(kStoreSide).points()[static_cast<size_t>(index)]).key;
}

void Finish(DatabaseStore& store, int64_t index) {
  const auto lease = store.LeaseJob("run", index, KeyAt(index), ThisWorker());
  ASSERT_TRUE(lease.ok()) << lease.error().Line();
  const Status finished = store.FinishStep("run", *lease, KeyAt(index), StepAt(index));
  ASSERT_TRUE(finished.ok()) << finished.error().Line();
}

std::unique_ptr<DatabaseStore> OpenStoreAt(const std::string& where) {
  auto store = DatabaseStore::Open(where, Durability::kProcessDeath);
  EXPECT_TRUE(store.ok()) << store.error().Line();
  return std::move(*store);
}

// Ends every child; true if all of them ended well.
bool AllEndWell(const std::vector<pid_t>& children) {
  bool well = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    well = well && status == 0;
  }
  return well;
}

class DatabaseStoreTest : public OnEveryDatabase {
 protected:
  std::unique_ptr<DatabaseStore> Open() { return OpenStoreAt(Where()); }
};
INSTANTIATE_TEST_SUITE_P(On, DatabaseStoreTest, testing::Bool(), DatabaseName);

class StoreFileTest : public testing::Test {
 protected:
  std::filesystem::path Path() const { return folder_.path() / "store.sqlite"; }
  std::unique_ptr<DatabaseStore> Open() { return OpenStoreAt(Path()); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("store").value();
};

TEST_P(DatabaseStoreTest, GivesARunBack) {
  ASSERT_TRUE(Open()->BeginRun(TestRun()).ok());
  const auto run = Open()->FindRun("run");
  ASSERT_TRUE(run.ok()) << run.error().Line();
  ASSERT_TRUE(run->has_value());
  EXPECT_EQ((*run)->seed, TestRun().seed);
  EXPECT_EQ((*run)->batch, 16);
  EXPECT_EQ(ToJson((*run)->task), ToJson(TestTask()));
  EXPECT_EQ(ToJson((*run)->device), ToJson(TestDevice()));
  EXPECT_EQ(ProtocolId((*run)->protocol), ProtocolId(Protocol::Screened()));
  EXPECT_FALSE(Open()->FindRun("other")->has_value());
}

TEST_P(DatabaseStoreTest, RefusesASecondRunOfTheSameId) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  const Status again = store->BeginRun(TestRun());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConfig);
}

TEST_P(DatabaseStoreTest, GivesStepsBackExactly) {
  {
    auto store = Open();
    ASSERT_TRUE(store->BeginRun(TestRun()).ok());
    for (int64_t i = 0; i < 12; ++i) Finish(*store, i);
  }
  const auto steps = Open()->Steps("run");
  ASSERT_TRUE(steps.ok()) << steps.error().Line();
  ASSERT_EQ(steps->size(), 12U);
  for (int64_t i = 0; i < 12; ++i) {
    const Step& step = (*steps)[static_cast<size_t>(i)];
    const Step expected = StepAt(i);
    EXPECT_EQ(step.index, i);
    EXPECT_EQ(CandidateId(step.candidate), CandidateId(expected.candidate));
    EXPECT_EQ(ToJson(step.candidate), ToJson(expected.candidate));
    EXPECT_EQ(ToJson(step.verdict), ToJson(expected.verdict));
    EXPECT_EQ(ToJson(step.terms), ToJson(expected.terms));
    EXPECT_EQ(ToJson(step.cost), ToJson(expected.cost));
    EXPECT_EQ(step.reward, expected.reward);
  }
}

TEST_P(DatabaseStoreTest, RemembersVerdictsByKeyAndDevice) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  Finish(*store, 0);
  const auto found = store->FindVerdict(KeyAt(0), TestDevice().uuid);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ(ToJson((*found)->verdict), ToJson(StepAt(0).verdict));
  EXPECT_EQ((*found)->gpu_seconds, 0.125);
  EXPECT_TRUE(store->FindVerdict(KeyAt(0), "")->has_value());
  EXPECT_FALSE(store->FindVerdict(KeyAt(0), "GPU-other")->has_value());
  EXPECT_FALSE(store->FindVerdict(KeyAt(1), "")->has_value());
}

TEST_P(DatabaseStoreTest, DoesNotRememberWhatSaysNothing) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  const auto lease = store->LeaseJob("run", 0, KeyAt(0), ThisWorker());
  Step step = StepAt(0);
  step.verdict.outcome = Inconclusive{"too noisy"};
  ASSERT_TRUE(store->FinishStep("run", *lease, KeyAt(0), step).ok());
  EXPECT_FALSE(store->FindVerdict(KeyAt(0), "")->has_value());
}

TEST_P(DatabaseStoreTest, RefusesAStaleAttempt) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  const auto first = store->LeaseJob("run", 0, KeyAt(0), "w");
  const auto second = store->LeaseJob("run", 0, KeyAt(0), "w");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->attempt, first->attempt + 1);
  const std::string before = *CanonicalDump(*store);
  const Status stale = store->FinishStep("run", *first, KeyAt(0), StepAt(0));
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, ErrorCode::kBusy);
  EXPECT_EQ(*CanonicalDump(*store), before) << "a refused step wrote something";
  EXPECT_TRUE(store->FinishStep("run", *second, KeyAt(0), StepAt(0)).ok());
  EXPECT_EQ(store->FinishStep("run", *second, KeyAt(0), StepAt(0)).error().code, ErrorCode::kBusy);
  EXPECT_EQ(store->LeaseJob("run", 0, KeyAt(0), "w").error().code, ErrorCode::kBusy);
}

TEST_P(DatabaseStoreTest, RefusesAResultUnderAnotherKey) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  const auto lease = store->LeaseJob("run", 0, KeyAt(0), "w");
  EXPECT_FALSE(store->FinishStep("run", *lease, KeyAt(1), StepAt(0)).ok());
}

TEST_P(DatabaseStoreTest, LeavesALivingWorkersJobAlone) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  ASSERT_TRUE(store->LeaseJob("run", 0, KeyAt(0), ThisWorker()).ok());
  EXPECT_EQ(store->LeaseJob("run", 0, KeyAt(0), "elsewhere:1:1").error().code, ErrorCode::kBusy);
}

TEST_P(DatabaseStoreTest, TakesADeadWorkersJobOver) {
  ASSERT_TRUE(Open()->BeginRun(TestRun()).ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool leased = Open()->LeaseJob("run", 0, KeyAt(0), ThisWorker()).ok();
    raise(leased ? SIGKILL : SIGTERM);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  const auto lease = Open()->LeaseJob("run", 0, KeyAt(0), ThisWorker());
  ASSERT_TRUE(lease.ok()) << lease.error().Line();
  EXPECT_EQ(lease->attempt, 2);
}

TEST_P(DatabaseStoreTest, ImportsTheSameVerdictOnce) {
  auto store = Open();
  const Job job = TestJob(TestSpace(kStoreSide).points()[0]);
  const Completed completed{job.key, TestVerdict(TestSpace(kStoreSide).points()[0], kStoreSide),
                            0.25};
  EXPECT_EQ(*store->ImportVerdict(job, completed), true);
  const std::string once = *CanonicalDump(*store);
  EXPECT_EQ(*store->ImportVerdict(job, completed), false);
  EXPECT_EQ(*CanonicalDump(*store), once);
  EXPECT_EQ((*store->FindVerdict(job.key, TestDevice().uuid))->gpu_seconds, 0.25);
}

TEST_P(DatabaseStoreTest, EightProcessesWriteOneStore) {
  constexpr int64_t kSteps = 20;
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = Open();
      const std::string run = "run " + std::to_string(process);
      bool fine = store->BeginRun(TestRun(run)).ok();
      for (int64_t i = 0; fine && i < kSteps; ++i) {
        const auto lease = store->LeaseJob(run, i, KeyAt(i), ThisWorker());
        fine = lease.ok() && store->FinishStep(run, *lease, KeyAt(i), StepAt(i)).ok();
      }
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  ASSERT_TRUE(AllEndWell(children));
  auto store = Open();
  ASSERT_EQ(store->Runs()->size(), static_cast<size_t>(kProcesses));
  for (int process = 0; process < kProcesses; ++process) {
    EXPECT_EQ(store->Steps("run " + std::to_string(process))->size(), static_cast<size_t>(kSteps));
  }
  Statement verdicts = store->connection().Prepare("SELECT count(*) FROM verdict");
  ASSERT_TRUE(*verdicts.Next());
  EXPECT_EQ(verdicts.Int(0), kSteps) << "all found the same verdicts: each is there once";
}

// Several workers on the steps of one run: each step is one worker's, whoever is first.
TEST_P(DatabaseStoreTest, EightProcessesShareTheStepsOfOneRun) {
  ASSERT_TRUE(Open()->BeginRun(TestRun()).ok());
  constexpr int64_t kSteps = 40;
  std::vector<pid_t> children;
  for (int process = 0; process < 8; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = Open();
      bool fine = true;
      for (int64_t i = 0; fine && i < kSteps; ++i) {
        const auto lease = store->LeaseJob("run", i, KeyAt(i), ThisWorker());
        fine = lease.ok() ? store->FinishStep("run", *lease, KeyAt(i), StepAt(i)).ok()
                          : lease.error().code == ErrorCode::kBusy;
      }
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  ASSERT_TRUE(AllEndWell(children));
  auto store = Open();
  Statement attempts = store->connection().Prepare("SELECT count(*), max(attempt) FROM job");
  ASSERT_TRUE(*attempts.Next());
  EXPECT_EQ(attempts.Int(0), kSteps);
  EXPECT_EQ(attempts.Int(1), 1) << "no job was taken from a living worker";
  EXPECT_EQ(store->Steps("run")->size(), static_cast<size_t>(kSteps));
}

// A limit on file sizes stands in for a full disk: writes past it fail the same way.
TEST_F(StoreFileTest, AFullDiskIsAnErrorAndLeavesNothingHalfWritten) {
  {
    auto store = Open();
    ASSERT_TRUE(store->BeginRun(TestRun()).ok());
    for (int64_t i = 0; i < 3; ++i) Finish(*store, i);
  }
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto store = Open();
    for (int64_t i = 3; i < kStoreSide * kStoreSide; ++i) {
      const auto lease = store->LeaseJob("run", i, KeyAt(i), ThisWorker());
      const Status finished =
          lease.ok() ? store->FinishStep("run", *lease, KeyAt(i), StepAt(i)) : lease.error();
      if (!finished.ok()) _exit(finished.error().code == ErrorCode::kIo ? 7 : 1);
    }
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  auto store = Open();
  const auto steps = store->Steps("run");
  ASSERT_TRUE(steps.ok()) << steps.error().Line();
  EXPECT_GE(steps->size(), 3U);
  for (auto i = static_cast<int64_t>(steps->size()); i < kStoreSide * kStoreSide; ++i)
    Finish(*store, i);
  EXPECT_EQ(store->Steps("run")->size(), static_cast<size_t>(kStoreSide * kStoreSide));
}

TEST_F(StoreFileTest, RefusesAFileThatIsNoDatabase) {
  ASSERT_TRUE(WriteFileAtomic(Path(), std::string(5000, 'x')).ok());
  const auto store = DatabaseStore::Open(Path(), Durability::kProcessDeath);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(store.error().message, HasSubstr(Path().string()));
}

TEST_F(StoreFileTest, RefusesAnotherProgramsDatabase) {
  ASSERT_TRUE((*OpenSqlite(Path(), 0))->Execute("CREATE TABLE other (x)").ok());
  const std::string before = ReadFile(Path()).value();
  const auto store = DatabaseStore::Open(Path(), Durability::kProcessDeath);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadFile(Path()).value(), before) << "it was not ours to change";
}

TEST_P(DatabaseStoreTest, RefusesAMissingStoreIfSoAsked) {
  for (int i = 0; i < 2; ++i) {  // the first time makes none
    const auto store =
        DatabaseStore::Open(Where(), Durability::kProcessDeath, WhenMissing::kRefuse);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, ErrorCode::kNoInput);
  }
}

TEST_P(DatabaseStoreTest, NamesARunThatIsNotThere) {
  const auto steps = Open()->Steps("nowhere");
  ASSERT_FALSE(steps.ok());
  EXPECT_THAT(steps.error().message, HasSubstr("\"nowhere\""));
}

TEST_P(DatabaseStoreTest, FactsCannotBeChanged) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  Finish(*store, 0);
  EXPECT_FALSE(store->connection().Execute("UPDATE verdict SET outcome = 'passed'").ok());
  EXPECT_FALSE(store->connection().Execute("UPDATE step SET reward = 9").ok());
}

TEST_F(StoreFileTest, BringsAVersion1StoreUpToDate) {
  {
    auto connection = OpenSqlite(Path(), 0).value();
    ASSERT_TRUE(Migrate(*connection, StoreSchema(), 1).ok());
    ASSERT_TRUE(connection
                    ->Execute("INSERT INTO device VALUES (1, 'u', '{}');"
                              "INSERT INTO task VALUES (1, 'c', 't', '{}');"
                              "INSERT INTO workload VALUES (1, 'w', '{}');"
                              "INSERT INTO protocol VALUES (1, 'screened', '{}');"
                              "INSERT INTO candidate VALUES ('c', 1, '{}');"
                              "INSERT INTO verdict VALUES "
                              "(1, 'k', 'c', 1, 1, 1, 1, NULL, 'passed', 1, 0.5, '{}', 'd');")
                    .ok());
  }
  auto store = Open();
  Statement version = store->connection().Prepare("PRAGMA user_version");
  ASSERT_TRUE(*version.Next());
  EXPECT_EQ(version.Int(0), StoreSchema().Latest());
  Statement verdict = store->connection().Prepare("SELECT key, origin FROM verdict");
  ASSERT_TRUE(*verdict.Next());
  EXPECT_EQ(verdict.Text(0), "k");
  EXPECT_EQ(verdict.Text(1), "run");
}

TEST_P(DatabaseStoreTest, RefusesANewerVersion) {
  const std::string newer = std::to_string(StoreSchema().Latest() + 1);
  const std::string set =
      GetParam() ? "UPDATE schema_version SET version = " : "PRAGMA user_version = ";
  ASSERT_TRUE(Open()->connection().Execute(set + newer).ok());
  const auto store = DatabaseStore::Open(Where(), Durability::kProcessDeath);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kVersion);
  EXPECT_THAT(store.error().message, HasSubstr("version " + newer));
}

// What a report is made of, as one text.
std::string ReadAll(DatabaseStore& store, bool& readable) {
  const auto runs = store.Runs();
  const auto steps = store.Steps("run");
  const auto memos = RunMemos(store, "run", {}).All();
  readable = runs.ok() && steps.ok() && memos.ok();
  if (!readable) return "";
  std::string all;
  for (const RunRecord& run : *runs) {
    all += run.id + run.command + ToJson(run.task).dump() + ToJson(run.workload).dump() +
           ToJson(run.protocol).dump() + ToJson(run.device).dump() + run.proposer +
           std::to_string(run.seed) + std::to_string(run.batch) + run.space;
  }
  for (const Step& step : *steps) {
    all += std::to_string(step.index) + ToJson(step.candidate).dump() +
           ToJson(step.verdict).dump() + ToJson(step.terms).dump() + ToJson(step.cost).dump() +
           std::to_string(step.reward);
  }
  for (const auto& [key, text] : *memos) all += key + text;
  return all;
}

class DamagedStoreTest : public StoreFileTest {
 protected:
  void SetUp() override {
    {
      auto store = Open();
      ASSERT_TRUE(store->BeginRun(TestRun("before")).ok());
      ASSERT_TRUE(store->BeginRun(TestRun()).ok());
      for (int64_t i = 0; i < kSteps; ++i) Finish(*store, i);
      ASSERT_TRUE(RunMemos(*store, "run", {}).KeepAll({{"chat:1", "a"}, {"chat:2", "b"}}).ok());
    }
    whole_ = ReadFile(Path()).value();
    bool readable = false;
    text_ = ReadAll(*Open(), readable);
    ASSERT_TRUE(readable);
  }
  // The file with `bit` of it flipped.
  void Flip(size_t bit) {
    std::string bytes = whole_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    for (const char* rest : {"-wal", "-shm"}) std::filesystem::remove(Path().string() + rest);
    ASSERT_TRUE(WriteFileAtomic(Path(), bytes).ok());
  }
  // A factor of four between the step's median and what is stored of it.
  void FlipMedian(int64_t step) {
    const Verdict verdict = StepAt(step).verdict;
    const auto& passed = std::get<Passed>(verdict.outcome);
    Flip(BitOf(passed.timings[0].modes[0].candidate.median_us) + 8 + 5);
  }
  // Where the bits of the number lie, as SQLite stores it.
  size_t BitOf(double value) const {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof(value));
    std::reverse(bytes.begin(), bytes.end());
    const size_t at = whole_.find(bytes);
    EXPECT_NE(at, std::string::npos);
    return at * 8;
  }

  static constexpr int64_t kSteps = 12;
  std::string whole_, text_;
};

TEST_F(DamagedStoreTest, AFlippedBitOfATimeIsAnError) {
  FlipMedian(0);
  const auto steps = Open()->Steps("run");
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(steps.error().message, HasSubstr("measurement of verdict 1"));
  EXPECT_FALSE(Open()->FindVerdict(KeyAt(0), "").ok());
}

TEST_F(DamagedStoreTest, AFlippedBitIsAnErrorOrChangesNothing) {
  Random random(20, "flips");
  int refused = 0;
  constexpr int kFlips = 600;
  for (int i = 0; i < kFlips; ++i) {
    const size_t bit = random.Below(whole_.size() * 8);
    Flip(bit);
    const auto store = DatabaseStore::Open(Path(), Durability::kProcessDeath);
    bool readable = false;
    const std::string text = store.ok() ? ReadAll(**store, readable) : "";
    refused += readable ? 0 : 1;
    EXPECT_TRUE(!readable || text == text_) << "bit " << bit << " changed what is read";
    EXPECT_TRUE(store.ok() || store.error().code != ErrorCode::kInternal) << store.error().Line();
  }
  EXPECT_GT(refused, kFlips / 5) << "the flips hit nothing that is read";
}

TEST_F(DamagedStoreTest, CheckNamesWhatIsDamaged) {
  EXPECT_THAT(FindDamage(Path()).value(), testing::IsEmpty());
  FlipMedian(0);
  EXPECT_THAT(FindDamage(Path()).value(), testing::Contains(HasSubstr("measurement 1 0 0 0")));
}

TEST_F(DamagedStoreTest, RepairKeepsARunUpToItsDamage) {
  FlipMedian(5);
  const auto fresh = folder_.path() / "fresh.sqlite";
  const auto kept = Repair(Path(), fresh);
  ASSERT_TRUE(kept.ok()) << kept.error().Line();
  EXPECT_THAT(FindDamage(fresh).value(), testing::IsEmpty());
  auto store = DatabaseStore::Open(fresh, Durability::kProcessDeath).value();
  EXPECT_EQ(store->Runs()->size(), 2U);
  EXPECT_EQ(store->Steps("run")->size(), 5U);
  EXPECT_TRUE(store->FindVerdict(KeyAt(6), "")->has_value()) << "sound, and behind the damage";
  EXPECT_FALSE(store->FindVerdict(KeyAt(5), "")->has_value());
  Finish(*store, 5);
  EXPECT_EQ(Repair(Path(), fresh).error().code, ErrorCode::kUsage) << "never over another file";
}

TEST_P(DatabaseStoreTest, ADamagedSchemaIsBadInput) {
  const std::string rest = GetParam() ? " CASCADE" : "";
  ASSERT_TRUE(Open()->connection().Execute("DROP VIEW checked_run; DROP TABLE memo" + rest).ok());
  const auto runs = Open()->Runs();
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, ErrorCode::kBadInput);
}

TEST_F(StoreFileTest, AFileOfNothingIsNoStore) {
  for (const char* rest : {"", "S"}) {
    ASSERT_TRUE(WriteFileAtomic(Path(), rest).ok());
    const auto store = DatabaseStore::Open(Path(), Durability::kProcessDeath);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(ReadFile(Path()).value(), rest) << "it was not ours to change";
  }
}

TEST_P(DatabaseStoreTest, ProcessesThatBeginAStoreTogetherShareIt) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = DatabaseStore::Open(Where(), Durability::kProcessDeath);
      const Status begun =
          store.ok() ? (*store)->BeginRun(TestRun("run " + std::to_string(i))) : store.error();
      if (!begun.ok()) std::fprintf(stderr, "%s\n", begun.error().Line().c_str());
      _exit(begun.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  EXPECT_TRUE(AllEndWell(children));
  EXPECT_EQ(Open()->Runs()->size(), 8U);
}

// A run, a memo and an imported verdict.
void FillStore(DatabaseStore& store) {
  ASSERT_TRUE(store.BeginRun(TestRun()).ok());
  for (int64_t i = 0; i < 12; ++i) Finish(store, i);
  ASSERT_TRUE(RunMemos(store, "run", {}).KeepAll({{"chat:1", "a"}, {"chat:2", "b"}}).ok());
  const Point point = TestSpace(kStoreSide).points()[20];
  ASSERT_TRUE(
      store.ImportVerdict(TestJob(point), {TestJob(point).key, TestVerdict(point, kStoreSide), 1})
          .ok());
}

TEST_P(DatabaseStoreTest, CheckNamesARowThatIsNotWhatWasWritten) {
  auto store = Open();
  FillStore(*store);
  EXPECT_THAT(FindDamage(Where()).value(), testing::IsEmpty());
  const std::string off = GetParam() ? "ALTER TABLE measurement DISABLE TRIGGER USER;"
                                     : "DROP TRIGGER measurement_is_a_fact;";
  ASSERT_TRUE(store->connection()
                  .Execute(off + "UPDATE measurement SET median_us = 1 WHERE verdict = 1")
                  .ok());
  EXPECT_THAT(FindDamage(Where()).value(), testing::Contains(HasSubstr("measurement 1 0 0 0")));
  EXPECT_EQ(store->Steps("run").error().code, ErrorCode::kBadInput);
}

class StoreServerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (database_.where().empty()) GTEST_SKIP() << "no PostgreSQL server";
  }
  const TestDatabase database_{true};
};

TEST_F(StoreServerTest, HoldsWhatAFileHolds) {
  const TestDatabase file(false);
  const auto on_server = OpenStoreAt(database_.where()), in_file = OpenStoreAt(file.where());
  FillStore(*on_server);
  FillStore(*in_file);
  EXPECT_EQ(*CanonicalDump(*on_server), *CanonicalDump(*in_file));
}

// The names of every table's columns, but for SQLite's rowid, which has a name here.
TEST_F(StoreServerTest, HasTheColumnsOfAFile) {
  const TestDatabase file(false);
  const auto columns = [](DatabaseStore& store, const char* sql) {
    std::set<std::string> names;
    Statement rows = store.connection().Prepare(sql);
    while (rows.Next().value()) names.insert(rows.Text(0) + "." + rows.Text(1));
    return names;
  };
  EXPECT_EQ(
      columns(*OpenStoreAt(database_.where()),
              "SELECT c.table_name::text, c.column_name::text FROM information_schema.columns "
              "c JOIN information_schema.tables t ON t.table_name = c.table_name AND "
              "t.table_schema = c.table_schema WHERE c.table_schema = current_schema() AND "
              "t.table_type = 'BASE TABLE' AND c.table_name <> 'schema_version' AND "
              "c.column_name <> 'begun_order'"),
      columns(*OpenStoreAt(file.where()),
              "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
              "WHERE t.type = 'table'"));
}

TEST_F(StoreServerTest, ALostConnectionLosesNothingAndIsMadeAnew) {
  // A commit waits for the disk, as where a GPU measures.
  auto store = DatabaseStore::Open(database_.where(), Durability::kPowerLoss).value();
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  Finish(*store, 0);
  const auto lease = store->LeaseJob("run", 1, KeyAt(1), ThisWorker());
  ASSERT_TRUE(lease.ok());
  AskTestServer("stop " + TestServerFolder());
  const Status lost = store->FinishStep("run", *lease, KeyAt(1), StepAt(1));
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  const auto away = DatabaseStore::Open(database_.where(), Durability::kProcessDeath);
  EXPECT_EQ(away.error().code, ErrorCode::kUnavailable);
  AskTestServer("again " + TestServerFolder());
  EXPECT_TRUE(store->FinishStep("run", *lease, KeyAt(1), StepAt(1)).ok());
  Finish(*store, 2);
  EXPECT_EQ(store->Steps("run")->size(), 3U);
}

TEST_F(StoreServerTest, AConnectionThatIsLostInATransactionIsAnErrorAndWritesNothing) {
  auto store = OpenStoreAt(database_.where());
  ASSERT_TRUE(store->BeginRun(TestRun()).ok());
  {
    Transaction transaction = Transaction::Begin(store->connection()).value();
    ASSERT_TRUE(store->connection().Execute("INSERT INTO toolchain (name) VALUES ('x')").ok());
    AskTestServer("stop " + TestServerFolder());
    AskTestServer("again " + TestServerFolder());
    const Status committed = transaction.Commit();
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, ErrorCode::kIo);
    EXPECT_THAT(committed.error().message, HasSubstr("was lost"));
  }
  Statement rows = store->connection().Prepare("SELECT count(*) FROM toolchain");
  ASSERT_TRUE(rows.Next().ok());
  EXPECT_EQ(rows.Int(0), 0);
}

TEST_F(StoreServerTest, SaysWhyItIsNotLetInAndNeverAPassword) {
  const std::string server = "@/postgres?host=" + TestServerFolder();
  const auto error_of = [](const std::string& where) {
    const auto store = DatabaseStore::Open(where, Durability::kProcessDeath);
    EXPECT_FALSE(store.ok());
    if (store.ok()) return Error{};
    for (const char* part : {"secret", "word", "s3"}) {
      EXPECT_THAT(store.error().Line(), testing::Not(HasSubstr(std::string(part) + "@")));
      EXPECT_THAT(store.error().Line(), testing::Not(HasSubstr("secret")));
    }
    return store.error();
  };
  auto admin = OpenPostgres("postgresql://warpsmith" + server, {"public", 1, true}).value();
  ASSERT_TRUE(admin
                  ->Execute("DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD "
                            "'right'")
                  .ok());
  EXPECT_THAT(error_of("postgresql://guarded:secret" + server).message,
              HasSubstr("password authentication failed"));
  EXPECT_EQ(error_of("postgresql://guarded" + server + "&password=secret").code,
            ErrorCode::kUnavailable);
  for (const char* unreadable : {"secret/word", "secret?", "se@secret", "secret%zz", "secret#1"}) {
    EXPECT_EQ(error_of("postgresql://me:" + std::string(unreadable) + "@host/db").code,
              ErrorCode::kUsage)
        << unreadable;
  }
  EXPECT_EQ(error_of("postgresql://host/db?password=a&secret").code, ErrorCode::kUsage);
  EXPECT_EQ(error_of("postgresql://me@/nowhere?host=/no/such/folder").code,
            ErrorCode::kUnavailable);
  EXPECT_THAT(error_of("postgresql://warpsmith@/nowhere?host=" + TestServerFolder()).message,
              HasSubstr("does not exist"));
  // Rights to connect, and none to make a schema.
  const auto powerless = error_of("postgresql://guarded:right" + server);
  EXPECT_EQ(powerless.code, ErrorCode::kPermission) << powerless.Line();
}

TEST_F(StoreServerTest, IsNotRepaired) {
  OpenStoreAt(database_.where());
  EXPECT_EQ(Repair(database_.where(), "fresh").error().code, ErrorCode::kUsage);
}

TEST(ServerAddress, IsShownWithoutItsPassword) {
  EXPECT_EQ(WithoutPassword("postgresql://me:secret@host:5/db"), "postgresql://me@host:5/db");
  EXPECT_EQ(WithoutPassword("postgresql://me:a@b/c:d@host/db"), "postgresql://me@host/db");
  EXPECT_EQ(WithoutPassword("postgresql://me@/db?host=/run&password=x&y"),
            "postgresql://me@/db?host=/run&password=...");
  EXPECT_EQ(WithoutPassword("postgres://host:5432/db"), "postgres://host:5432/db");
  EXPECT_TRUE(IsServerAddress("postgres://x"));
  EXPECT_FALSE(IsServerAddress("postgresql.db"));
}

TEST(WorkerTest, TellsTheLivingFromTheDead) {
  EXPECT_FALSE(KnownDead(ThisWorker()));
  EXPECT_FALSE(KnownDead("another-host.example:1:1"));
  EXPECT_FALSE(KnownDead("no worker"));
  std::string reused = ThisWorker();
  reused.back() = reused.back() == '0' ? '1' : '0';
  EXPECT_TRUE(KnownDead(reused));
}

}  // namespace
}  // namespace warpsmith::store
