#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace warpsmith {
namespace {

// Each in a process of its own: the flag is never taken back.
TEST(InterruptDeathTest, FirstSignalIsRemembered) {
  EXPECT_EXIT(
      {
        InstallInterruptHandler();
        if (Interrupted()) _exit(1);
        raise(SIGINT);
        _exit(Interrupted() ? 42 : 2);
      },
      ::testing::ExitedWithCode(42), "once more");
}

TEST(InterruptDeathTest, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        InstallInterruptHandler();
        raise(SIGTERM);
        raise(SIGINT);
        _exit(3);
      },
      ::testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace warpsmith
