#include "base/kill_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/clock.h"
#include "base/testing/survivor.h"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

TEST(KillAndReap, SaysHowItEnded) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  EXPECT_FALSE(HasExited(child));
  const std::optional<int> status = KillAndReap(child);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
  EXPECT_EQ(kill(child, 0), -1) << "it was reaped";
  EXPECT_TRUE(Survivors().empty());
}

TEST(KillAndReap, TellsOfTheOneThatDoesNotDieUntilItHas) {
  Survivor stuck;
  if (!stuck.is_traced()) GTEST_SKIP() << "tracing is forbidden here";
  EXPECT_FALSE(KillAndReap(stuck.pid(), milliseconds(30)).has_value());
  EXPECT_EQ(Survivors(), std::vector<pid_t>{stuck.pid()});
  stuck.LetGo();
  const double deadline_s = MonotonicSeconds() + 10;
  while (!Survivors().empty() && MonotonicSeconds() < deadline_s) std::this_thread::yield();
  EXPECT_TRUE(Survivors().empty());
  EXPECT_EQ(kill(stuck.pid(), 0), -1) << "it was reaped";
}

}  // namespace
}  // namespace warpsmith
