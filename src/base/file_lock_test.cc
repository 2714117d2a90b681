#include "base/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

TEST(FileLock, SecondHolderWaitsOrIsToldWhoHasIt) {
  const auto folder = TemporaryDirectory::Create("warpsmith-lock-");
  const auto path = folder->path() / "gpu.lock";
  {
    const auto first = FileLock::Acquire(path, "GPU 0", milliseconds(0));
    ASSERT_TRUE(first.ok());
    const auto second = FileLock::Acquire(path, "GPU 0", milliseconds(30));
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_THAT(second.error().message,
                ::testing::HasSubstr("GPU 0 is in use by process " + std::to_string(getpid())));
  }
  EXPECT_TRUE(FileLock::Acquire(path, "GPU 0", milliseconds(0)).ok());
}

TEST(FileLock, SaysWhatItCannotOpen) {
  const auto lock = FileLock::Acquire("/nowhere/at/all.lock", "GPU 0", milliseconds(0));
  EXPECT_EQ(lock.error().code, ErrorCode::kIo);
  EXPECT_THAT(lock.error().message, ::testing::HasSubstr("/nowhere/at/all.lock"));
}

}  // namespace
}  // namespace warpsmith
