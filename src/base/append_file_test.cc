#include "base/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "base/file.h"

namespace warpsmith {
namespace {

class AppendFileTest : public ::testing::Test {
 protected:
  std::string Text() const { return ReadFile(path_).value(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("append-file-test").value();
  std::filesystem::path path_ = folder_.path() / "file";
};

TEST_F(AppendFileTest, IsMadeAndGrows) {
  auto file = AppendFile::Open(path_, 0);
  ASSERT_TRUE(file.ok()) << file.error().Line();
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Append(std::string_view("\0two", 4)).ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_EQ(Text(), std::string("one\n\0two", 8));
  EXPECT_EQ(file->bytes(), 8);
}

TEST_F(AppendFileTest, CutsATornEndOff) {
  ASSERT_TRUE(WriteFileAtomic(path_, "whole|tor").ok());
  auto file = AppendFile::Open(path_, 6);
  ASSERT_TRUE(file.ok()) << file.error().Line();
  ASSERT_TRUE(file->Append("next|").ok());
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
  auto file = AppendFile::Open(path_, 0);
  ASSERT_TRUE(file.ok()) << file.error().Line();
  ASSERT_TRUE(file->Append("whole|").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = file->Append("does not fit|");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(Text(), "whole|");
  ASSERT_TRUE(file->Append("fits|").ok());
  EXPECT_EQ(Text(), "whole|fits|");
}

}  // namespace
}  // namespace warpsmith
