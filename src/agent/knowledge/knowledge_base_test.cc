#include "agent/knowledge/knowledge_base.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/tests/contents.h"
#include "base/file.h"
#include "store/database_store.h"
#include "store/tests/database.h"

namespace warpsmith::knowledge {
namespace {

using store::Durability;
using store::WhenMissing;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::unique_ptr<KnowledgeBase> OpenBaseAt(const std::string& where) {
  return KnowledgeBase::Open(where, Durability::kProcessDeath, WhenMissing::kCreate).value();
}

std::unique_ptr<KnowledgeBase> OpenBaseWithNames(const std::string& where) {
  auto base = OpenBaseAt(where);
  Contents names = DrawnContents(1);
  names.outcomes.clear();
  names.notes.clear();
  base->Take(names).value();
  return base;
}

Error ErrorOfOpeningBase(const std::string& where) {
  auto base = KnowledgeBase::Open(where, Durability::kProcessDeath, WhenMissing::kRefuse);
  return base.ok() ? Error{} : base.error();
}

class KnowledgeBaseTest : public store::OnEveryDatabase {
 protected:
  std::unique_ptr<KnowledgeBase> Open() { return OpenBaseAt(Where()); }
  std::unique_ptr<KnowledgeBase> OpenWithNames() { return OpenBaseWithNames(Where()); }
};
INSTANTIATE_TEST_SUITE_P(On, KnowledgeBaseTest, testing::Bool(), store::DatabaseName);

class KnowledgeFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name = "kb.sqlite") const {
    return (folder_.path() / name).string();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("knowledge").value();
};

TEST_P(KnowledgeBaseTest, RecordsOnceHoweverOftenItIsTold) {
  auto base = OpenWithNames();
  EXPECT_TRUE(base->Record(TestOutcome(0.25)).value());
  Outcome again = TestOutcome(0.25);
  again.date = "2027-01-01T00:00:00Z";
  EXPECT_FALSE(base->Record(again).value());
  const std::vector<Cell> cells = base->Cells().value();
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].tally.measured, 1);
  EXPECT_EQ(cells[0].tally.sum_e5, 25'000);
  EXPECT_TRUE(base->Verify().ok());
}

TEST_P(KnowledgeBaseTest, RefusesContradictionsAndWhatHasNoName) {
  auto base = OpenWithNames();
  base->Record(TestOutcome(0.25)).value();
  EXPECT_THAT(base->Record(TestOutcome(0.5)).error().message, HasSubstr("contradict"));
  Outcome unnamed = TestOutcome(0.1, 9);
  unnamed.state = "nowhere";
  EXPECT_THAT(base->Record(unnamed).error().message, HasSubstr("no state \"nowhere\""));
  EXPECT_EQ(base->Cells().value()[0].tally.measured, 1);
}

TEST_P(KnowledgeBaseTest, ChangesNoFact) {
  auto base = OpenWithNames();
  base->Record(TestOutcome(0.25)).value();
  base->Add(Note{"barrier", "", "text", "person", ""}).value();
  for (const char* sql : {"UPDATE outcome SET gain_e5 = 1", "DELETE FROM outcome",
                          "UPDATE note SET text = 'x'", "DELETE FROM note"}) {
    EXPECT_FALSE(base->connection().Execute(sql).ok()) << sql;
  }
}

TEST_P(KnowledgeBaseTest, TakesAllOrNothing) {
  auto base = OpenWithNames();
  Contents contents = DrawnContents(2);
  Outcome unnamed = TestOutcome(0.1, 1000);
  unnamed.technique = "zzz";
  contents.outcomes.push_back(unnamed);
  EXPECT_FALSE(base->Take(contents).ok());
  EXPECT_TRUE(base->Cells().value().empty());
  EXPECT_TRUE(base->Read().value().notes.empty());
}

TEST_F(KnowledgeFileTest, HoldsWhatMergedSays) {
  int number = 0;
  EXPECT_TRUE(rc::check("the base's merge is the values' merge, and its statistics are their sums",
                        [&](uint64_t x, uint64_t y) {
                          const Contents a = DrawnContents(x), b = DrawnContents(y);
                          auto base = OpenBaseAt(Path(std::to_string(number++)));
                          base->Take(a).value();
                          base->Take(b).value();
                          base->Take(a).value();
                          const Contents both = Merged(a, b).value();
                          RC_ASSERT(ToText(base->Read().value()) == ToText(both));
                          RC_ASSERT(base->Verify().ok());
                          RC_ASSERT(base->Cells().value().size() ==
                                    StatisticsOf(both.outcomes).size());
                        }));
}

TEST_P(KnowledgeBaseTest, BlocksWhatFailedBadlyHereUntilItWorks) {
  auto base = OpenWithNames();
  base->Record(TestFailure(Failure::kHang, 3)).value();
  Outcome harmless = TestFailure(Failure::kCompileFailed, 4);
  harmless.technique = "padding";
  base->Record(harmless).value();
  const Situation here{"memory-latency", TestContext(), "task"};
  EXPECT_THAT(base->Recall(here).value().blocked, ElementsAre(Pair("fusion", "hang (run:run#3)")));
  const Situation other_task{"memory-latency", TestContext(), "other"};
  EXPECT_TRUE(base->Recall(other_task).value().blocked.empty());
  Random random(1, "draw");
  const auto choices = base->Draw(here, {"fusion", "padding"}, 2, random).value();
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].technique, "padding");
  base->Record(TestOutcome(0.1, 5)).value();
  EXPECT_TRUE(base->Recall(here).value().blocked.empty());
}

TEST_P(KnowledgeBaseTest, RecallsTheCoarserStateToo) {
  auto base = OpenWithNames();
  base->Record(TestOutcome(0.5)).value();
  const Situation finer{"memory-latency/tail", TestContext(), ""};
  const Recollection recollection = base->Recall(finer).value();
  ASSERT_EQ(recollection.cells.size(), 1U);
  EXPECT_GT(BeliefsIn(finer, recollection, {"fusion"})[0].posterior.mean, 0);
}

TEST_P(KnowledgeBaseTest, RecallsWhatAllCellsWouldSay) {
  auto base = OpenWithNames();
  Contents contents;
  for (int64_t step = 0; step < 400; ++step) contents.outcomes.push_back(OutcomeOfStep(step));
  base->Take(contents).value();
  const std::vector<Cell> all = base->Cells().value();
  const Situation here{"memory-latency/tail", TestContext(), ""};
  const Recollection recollection = base->Recall(here).value();
  EXPECT_LT(recollection.cells.size(), all.size());
  for (const std::string& technique : kTestTechniques) {
    std::vector<Cell> cells;
    std::copy_if(all.begin(), all.end(), std::back_inserter(cells),
                 [&](const Cell& cell) { return cell.key.technique == technique; });
    const Posterior whole = PosteriorOf(here, cells, {});
    const Posterior recalled = BeliefsIn(here, recollection, {technique})[0].posterior;
    EXPECT_EQ(recalled.mean, whole.mean);
    EXPECT_EQ(recalled.beta, whole.beta);
    EXPECT_EQ(recalled.successes, whole.successes);
    EXPECT_EQ(recalled.here, whole.here);
    EXPECT_EQ(recalled.elsewhere, whole.elsewhere);
  }
}

TEST_P(KnowledgeBaseTest, SeesStatisticsThatAreNotSums) {
  auto base = OpenWithNames();
  base->Record(TestOutcome(0.25)).value();
  ASSERT_TRUE(base->connection().Execute("UPDATE statistic SET measured = 7").ok());
  EXPECT_THAT(base->Verify().error().message, HasSubstr("not the sums"));
}

TEST_P(KnowledgeBaseTest, HoldsTheSameTextOnEveryDatabase) {
  auto base = Open();
  const Contents a = DrawnContents(3), b = DrawnContents(4);
  base->Take(a).value();
  base->Take(b).value();
  EXPECT_EQ(ToText(base->Read().value()), ToText(Merged(a, b).value()));
  EXPECT_TRUE(base->Verify().ok());
}

TEST_F(KnowledgeFileTest, RefusesFilesThatAreNotItsOwn) {
  EXPECT_EQ(ErrorOfOpeningBase(Path()).code, ErrorCode::kNoInput);
  ASSERT_TRUE(WriteFileAtomic(Path(), std::string(8192, 'x')).ok());
  EXPECT_EQ(ErrorOfOpeningBase(Path()).code, ErrorCode::kBadInput);
  std::filesystem::remove(Path());
  store::OpenDatabase(Path(), store::StoreSchema(), Durability::kProcessDeath, WhenMissing::kCreate)
      .value();
  EXPECT_THAT(ErrorOfOpeningBase(Path()).message, HasSubstr("not a warpsmith knowledge base"));
}

TEST_P(KnowledgeBaseTest, RefusesANewerVersion) {
  const char* set =
      GetParam() ? "UPDATE schema_version SET version = 99" : "PRAGMA user_version = 99";
  ASSERT_TRUE(Open()->connection().Execute(set).ok());
  EXPECT_EQ(ErrorOfOpeningBase(Where()).code, ErrorCode::kVersion);
}

TEST_F(KnowledgeFileTest, FindsDamageInTheMiddle) {
  {
    auto base = OpenBaseWithNames(Path());
    for (int64_t step = 0; step < 300; ++step) base->Record(OutcomeOfStep(step)).value();
    ASSERT_TRUE(base->connection().Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  }
  const auto bytes = std::filesystem::file_size(Path());
  std::fstream file(Path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(bytes / 2));
  file << std::string(bytes / 4, '\xa5');
  file.close();
  auto base = KnowledgeBase::Open(Path(), Durability::kProcessDeath, WhenMissing::kRefuse);
  const Status verified = base.ok() ? (*base)->Verify() : Status(base.error());
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code, ErrorCode::kBadInput) << verified.error().message;
}

// A process that records, step after step, until it is killed; it says each committed step.
void RecordUntilKilled(const std::string& path, int64_t from, int pipe) {
  auto base = KnowledgeBase::Open(path, Durability::kProcessDeath, WhenMissing::kRefuse).value();
  for (int64_t step = from; step < from + 1'000'000; ++step) {
    base->Record(OutcomeOfStep(step)).value();
    if (write(pipe, &step, sizeof step) != sizeof step) _exit(1);
  }
}

TEST_P(KnowledgeBaseTest, AKilledProcessLosesNothingAndCountsNothingTwice) {
  OpenWithNames();
  Random random(11, "kill");
  int64_t next = 0;
  for (int kill_number = 0; kill_number < 15; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      // Again from before what was committed: as a resumed run does.
      RecordUntilKilled(Where(), std::max<int64_t>(0, next - 3), ends[1]);
      _exit(0);
    }
    close(ends[1]);
    int64_t committed = -1;
    const auto until = next + 1 + static_cast<int64_t>(random.Below(20));
    while (committed < until && read(ends[0], &committed, sizeof committed) == sizeof committed) {
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(ends[0], &committed, sizeof committed) == sizeof committed) {
    }
    close(ends[0]);
    auto base = Open();
    ASSERT_TRUE(base->Verify().ok());
    const auto kept = static_cast<int64_t>(base->Read().value().outcomes.size());
    // All that was said to be committed, and at most the one that was not said yet.
    ASSERT_GE(kept, committed + 1);
    ASSERT_LE(kept, committed + 2);
    next = kept;
  }
}

}  // namespace
}  // namespace warpsmith::knowledge
