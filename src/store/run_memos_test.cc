#include "store/run_memos.h"

#include <gmock/gmock.h>

#include "store/tests/database.h"
#include "store/tests/facts.h"

namespace warpsmith::store {
namespace {

using testing::Optional;

class RunMemosTest : public OnEveryDatabase {
 protected:
  void SetUp() override {
    OnEveryDatabase::SetUp();
    if (IsSkipped()) return;
    store_ = DatabaseStore::Open(Where(), Durability::kProcessDeath).value();
    RunRecord run{"run",   "", TestTask(), TestWorkload(), Protocol::Screened(),
                  "agent", 1,  1,          TestDevice(),   ""};
    EXPECT_TRUE(store_->BeginRun(run).ok());
    run.id = "other";
    EXPECT_TRUE(store_->BeginRun(run).ok());
  }

  std::unique_ptr<DatabaseStore> store_;
};
INSTANTIATE_TEST_SUITE_P(On, RunMemosTest, testing::Bool(), DatabaseName);

TEST_P(RunMemosTest, KeepsTextsByRunAndKey) {
  RunMemos memos(*store_, "run"), other(*store_, "other");
  const std::string text("two\nlines\0and a byte", 20);
  ASSERT_TRUE(memos.Keep("chat:a", text).ok());
  EXPECT_THAT(memos.Find("chat:a").value(), Optional(text));
  EXPECT_EQ(memos.Find("chat:b").value(), std::nullopt);
  EXPECT_EQ(other.Find("chat:a").value(), std::nullopt);
  EXPECT_EQ(memos.All().value(), (Memos{{"chat:a", text}}));
}

TEST_P(RunMemosTest, TheFirstTextStays) {
  RunMemos memos(*store_, "run");
  ASSERT_TRUE(memos.Keep("k", "first").ok());
  EXPECT_TRUE(memos.Keep("k", "first").ok());
  EXPECT_EQ(memos.Keep("k", "second").error().code, ErrorCode::kBusy);
  EXPECT_THAT(memos.Find("k").value(), Optional(std::string("first")));
}

TEST_P(RunMemosTest, ARecordingIsTakenOverAsItIsFound) {
  RunMemos replay(*store_, "run", {{"k", "recorded"}, {"unused", "x"}});
  EXPECT_TRUE(replay.is_replay());
  EXPECT_THAT(replay.Find("k").value(), Optional(std::string("recorded")));
  EXPECT_EQ(replay.All().value(), (Memos{{"k", "recorded"}}));
}

TEST_P(RunMemosTest, ARunThatWasNeverBegunHasNone) {
  EXPECT_FALSE(RunMemos(*store_, "never").Keep("k", "v").ok());
}

}  // namespace
}  // namespace warpsmith::store
