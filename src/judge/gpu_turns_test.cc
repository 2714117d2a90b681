#include "judge/gpu_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "base/tests/survivor.h"

namespace warpsmith::judge {
namespace {

using std::chrono::milliseconds;

// Locks of one file exclude each other inside one process, too: these stand for two processes.
class GpuTurnsTest : public testing::Test {
 protected:
  GpuTurns Of(milliseconds patience) { return {folder_.path() / "lock", "measuring", patience}; }
  bool IsFree() { return Of(milliseconds(0)).Take().ok(); }
  const TemporaryDirectory folder_ = std::move(TemporaryDirectory::Create("turns")).value();
};

TEST_F(GpuTurnsTest, WhoHasNoPatienceKeepsIt) {
  GpuTurns turns = Of(milliseconds(0));
  EXPECT_TRUE(IsFree());
  EXPECT_TRUE(turns.Take().ok());
  EXPECT_FALSE(IsFree());
  EXPECT_TRUE(turns.Take().ok());
}

TEST_F(GpuTurnsTest, WhoWaitsGivesItBack) {
  GpuTurns turns = Of(milliseconds(1));
  {
    const auto one = turns.Take();
    ASSERT_TRUE(one.ok());
    EXPECT_FALSE(IsFree());
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(IsFree());
  const double held = turns.held_seconds();
  EXPECT_GE(held, 0.005);
  std::this_thread::sleep_for(milliseconds(2));
  EXPECT_EQ(turns.held_seconds(), held);
}

// One judges, another profiles: neither beside the other.
TEST_F(GpuTurnsTest, ThreadsOfOneProcessTakeTurns) {
  for (const int patience_ms : {0, 20'000}) {
    GpuTurns turns = Of(milliseconds(patience_ms));
    int holders = 0, most = 0;  // in a race if two hold one at once
    const auto take_many = [&] {
      for (int i = 0; i < 50; ++i) {
        const auto turn = turns.Take();
        most = std::max(most, ++holders);
        std::this_thread::yield();
        --holders;
      }
    };
    std::thread other(take_many);
    take_many();
    other.join();
    EXPECT_EQ(most, 1);
  }
}

// A process that a driver keeps alive goes on working on the GPU.
TEST_F(GpuTurnsTest, NobodyMeasuresBesideOneThatDoesNotDie) {
  GpuTurns ours = Of(milliseconds(1));
  Survivor stuck;
  if (!stuck.is_traced()) GTEST_SKIP() << "tracing is forbidden here";
  {
    const auto turn = ours.Take();
    ASSERT_TRUE(turn.ok());
    EXPECT_FALSE(KillAndReap(stuck.pid(), milliseconds(10)).has_value());
  }
  const auto refused = ours.Take();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find(std::to_string(stuck.pid())), std::string::npos);
  EXPECT_FALSE(IsFree()) << "nor does another process";
  stuck.LetGo();
  const double deadline_s = MonotonicSeconds() + 10;
  while (!Survivors().empty() && MonotonicSeconds() < deadline_s) std::this_thread::yield();
  EXPECT_TRUE(ours.Take().ok());
  EXPECT_TRUE(IsFree());
}

TEST_F(GpuTurnsTest, CanBeAskedWhileATurnIsWaitedFor) {
  GpuTurns other = Of(milliseconds(1)), waiting = Of(milliseconds(20'000));
  auto turn = std::make_optional(other.Take());
  ASSERT_TRUE(turn->ok());
  std::thread patient([&] { EXPECT_TRUE(waiting.Take().ok()); });
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(waiting.held_seconds(), 0);
  turn.reset();
  patient.join();
}

// How many turns `busy` takes, one right after the other, before `patient` has had its own.
int TurnsBeforeTheOthers(GpuTurns& busy, GpuTurns& patient) {
  std::atomic<bool> asks = false, had = false;
  std::thread other([&] {
    asks = true;
    EXPECT_TRUE(patient.Take().ok());
    had = true;
  });
  int turns = 0;
  while (!had && turns < 1000) {
    const auto turn = busy.Take();
    EXPECT_TRUE(turn.ok());
    std::this_thread::sleep_for(milliseconds(1));  // what is measured
    turns += asks ? 1 : 0;
  }
  other.join();
  return turns;
}

TEST_F(GpuTurnsTest, WhoAsksAgainAtOnceComesAfterWhoWaits) {
  GpuTurns busy = Of(milliseconds(20'000)), patient = Of(milliseconds(20'000));
  EXPECT_LT(TurnsBeforeTheOthers(busy, patient), 50);
}

TEST_F(GpuTurnsTest, WhoIsRefusedMayAskAgain) {
  GpuTurns other = Of(milliseconds(1)), hasty = Of(milliseconds(1));
  auto turn = std::make_optional(other.Take());
  ASSERT_TRUE(turn->ok());
  EXPECT_FALSE(hasty.Take().ok());
  turn.reset();
  EXPECT_TRUE(hasty.Take().ok());
}

TEST_F(GpuTurnsTest, WaitsForTheOtherAndNoLonger) {
  GpuTurns other = Of(milliseconds(1)), waiting = Of(milliseconds(20'000)),
           hasty = Of(milliseconds(1));
  auto turn = std::make_optional(other.Take());
  ASSERT_TRUE(turn->ok());
  const auto refused = hasty.Take();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBusy);
  std::thread leaving([&] {
    std::this_thread::sleep_for(milliseconds(10));
    turn.reset();
  });
  EXPECT_TRUE(waiting.Take().ok());
  leaving.join();
}

}  // namespace
}  // namespace warpsmith::judge
