#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  const TemporaryDirectory folder_ = TemporaryDirectory::Create("warpsmith-file-").value();
  fs::path At(const char* name) const { return folder_.path() / name; }
  int Entries() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path())) ++count;
    return count;
  }
};

TEST_F(FileTest, ReadsBackWhatWasWritten) {
  std::string bytes(3'000'000, 'x');
  bytes[5] = '\0';
  ASSERT_TRUE(WriteFileAtomic(At("data"), bytes).ok());
  EXPECT_EQ(ReadFile(At("data")).value(), bytes);
  ASSERT_TRUE(WriteFileAtomic(At("data"), "").ok());
  EXPECT_EQ(ReadFile(At("data")).value(), "");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(FileTest, AbsentFilesAreNoInput) {
  const auto contents = ReadFile(At("absent"));
  EXPECT_EQ(contents.error().code, ErrorCode::kNoInput);
  EXPECT_THAT(contents.error().message, HasSubstr("absent"));
  EXPECT_EQ(ReadFile(folder_.path()).error().code, ErrorCode::kNoInput);
}

// A file size limit stands for a full disk: both fail in write().
TEST_F(FileTest, AFailedWriteLeavesTheOldFile) {
  ASSERT_TRUE(WriteFileAtomic(At("data"), "old").ok());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status written = WriteFileAtomic(At("data"), std::string(5000, 'n'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(ReadFile(At("data")).value(), "old");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(FileTest, AFullDeviceIsSaidAndNotReplaced) {
  const Status written = WriteFileAtomic("/dev/full", "x");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().Line(), HasSubstr("/dev/full: No space left"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(FileTest, CannotWriteBelowAFile) {
  ASSERT_TRUE(WriteFileAtomic(At("data"), "x").ok());
  EXPECT_EQ(WriteFileAtomic(At("data") / "y", "x").error().code, ErrorCode::kIo);
  EXPECT_EQ(CreateDirectories(At("data") / "y").error().code, ErrorCode::kIo);
  EXPECT_TRUE(CreateDirectories(At("a") / "b" / "c").ok());
  EXPECT_TRUE(CreateDirectories(At("a") / "b").ok());
}

TEST(TemporaryDirectory, IsRemovedWithItsContents) {
  fs::path path;
  {
    const auto folder = TemporaryDirectory::Create("warpsmith-test-");
    path = folder->path();
    ASSERT_TRUE(CreateDirectories(path / "x").ok());
    ASSERT_TRUE(WriteFileAtomic(path / "x" / "y", "z").ok());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Xdg, FollowsTheEnvironment) {
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("XDG_DATA_HOME", "/data", 1);
  setenv("XDG_CACHE_HOME", "relative is ignored", 1);
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(DataHome(), "/data/warpsmith");
  EXPECT_EQ(CacheHome(), "/home/x/.cache/warpsmith");
  unsetenv("XDG_DATA_HOME");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_TRUE(StateHome().is_absolute());
  if (!before.empty()) setenv("HOME", before.c_str(), 1);
}

TEST(ShippedFiles, AreFoundInTheSourceTree) {
  EXPECT_EQ(ThisExecutable().filename(), "base_test");
  const auto found = FindShippedFile("cmake/modules.txt");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(fs::exists(*found));
  EXPECT_EQ(FindShippedFile("data/no-such-file").error().code, ErrorCode::kNoInput);
}

}  // namespace
}  // namespace warpsmith
