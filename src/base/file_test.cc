#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

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

// A path that long could not be written: each folder is made from within the one above.
void Nest(const fs::path& root, int depth) {
  int folder = open(root.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; ++i) {
    ASSERT_EQ(mkdirat(folder, "d", 0700), 0);
    ASSERT_GE(close(openat(folder, "file", O_CREAT | O_WRONLY, 0600)), 0);
    const int next = openat(folder, "d", O_RDONLY | O_DIRECTORY);
    close(folder);
    folder = next;
  }
  close(folder);
}

// So that a tree need not be as deep as the descriptors of a user go.
class FewDescriptors {
 public:
  FewDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{64, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(RemoveTree, TakesAwayWhatIsDeeperThanDescriptorsGo) {
  const TemporaryDirectory outside = TemporaryDirectory::Create("tree").value();
  const fs::path root = outside.path() / "root";
  fs::create_directory(root);
  Nest(root, 150);
  fs::create_directories(root / ".moved-0" / ".moved-1");
  const FewDescriptors few;
  RemoveTree(root);
  EXPECT_FALSE(fs::exists(root));
}

TEST(RemoveTree, TakesAwayFoldersThatMayNotBeRead) {
  const TemporaryDirectory outside = TemporaryDirectory::Create("tree").value();
  const fs::path root = outside.path() / "root";
  fs::create_directories(root / "closed" / "inner");
  fs::create_directory(outside.path() / "kept");
  ASSERT_TRUE(WriteFileAtomic(outside.path() / "kept" / "file", "kept").ok());
  fs::create_directory_symlink(outside.path() / "kept", root / "closed" / "inner" / "link");
  fs::permissions(root / "closed" / "inner", fs::perms::none);
  fs::permissions(root / "closed", fs::perms::none);
  RemoveTree(root);
  EXPECT_FALSE(fs::exists(root));
  EXPECT_TRUE(fs::exists(outside.path() / "kept" / "file"));
  RemoveTree(root);  // what is not there is no trouble
}

TEST(RemoveTree, IsHowTemporaryFoldersEnd) {
  fs::path path;
  const FewDescriptors few;
  {
    const TemporaryDirectory folder = TemporaryDirectory::Create("tree").value();
    path = folder.path();
    Nest(path, 150);
  }
  EXPECT_FALSE(fs::exists(path));
}

class AppendFileTest : public ::testing::Test {
 protected:
  std::string Text() const { return ReadFile(path_).value(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("append-file-test").value();
  std::filesystem::path path_ = folder_.path() / "file";
};

TEST_F(AppendFileTest, IsMadeAndGrows) {
  auto file = AppendFile::Open(path_, 0).value();
  ASSERT_TRUE(file.Append("one\n").ok());
  ASSERT_TRUE(file.Append(std::string_view("\0two", 4)).ok());
  EXPECT_TRUE(file.Sync().ok());
  EXPECT_EQ(Text(), std::string("one\n\0two", 8));
  EXPECT_EQ(file.bytes(), 8);
}

TEST_F(AppendFileTest, CutsATornEndOff) {
  ASSERT_TRUE(WriteFileAtomic(path_, "whole|tor").ok());
  auto file = AppendFile::Open(path_, 6).value();
  ASSERT_TRUE(file.Append("next|").ok());
  EXPECT_EQ(Text(), "whole|next|");
}

TEST_F(AppendFileTest, RefusesAFileThatIsShorterThanItsWholePart) {
  ASSERT_TRUE(WriteFileAtomic(path_, "abc").ok());
  EXPECT_FALSE(AppendFile::Open(path_, 4).ok());
  EXPECT_EQ(Text(), "abc");
}

TEST_F(AppendFileTest, SaysWhichFileCannotBeOpened) {
  const auto file = AppendFile::Open(folder_.path() / "none" / "file", 0);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("none/file"), std::string::npos);
}

// A file that may not grow behaves as a full disk does.
TEST_F(AppendFileTest, AFullDiskLeavesNothingOfThePieceBehind) {
  auto file = AppendFile::Open(path_, 0).value();
  ASSERT_TRUE(file.Append("whole|").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = file.Append("does not fit|");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(Text(), "whole|");
  ASSERT_TRUE(file.Append("fits|").ok());
  EXPECT_EQ(Text(), "whole|fits|");
}

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
