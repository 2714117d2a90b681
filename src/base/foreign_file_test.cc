#include "base/foreign_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/file.h"
#include "base/spawn.h"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

class ForeignFile : public ::testing::Test {
 protected:
  fs::path At(const char* name) const { return folder_.path() / name; }
  ErrorCode CodeOf(const char* name) const {
    const auto read = ReadForeignFile(At(name), 100);
    return read.ok() ? ErrorCode::kInternal : read.error().code;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::Create("foreign").value();
};

TEST(StaysInside, TakesNoWayOut) {
  EXPECT_TRUE(StaysInside("a/b") && StaysInside("a..b") && StaysInside("./a"));
  EXPECT_FALSE(StaysInside("") || StaysInside("/a") || StaysInside("..") || StaysInside("a/../b"));
}

TEST_F(ForeignFile, GivesTheBeginningOfAFile) {
  ASSERT_TRUE(WriteFileAtomic(At("file"), std::string(200'000, 'x') + "end").ok());
  EXPECT_EQ(ReadForeignFile(At("file"), 3).value(), "xxx");
  EXPECT_EQ(ReadForeignFile(At("file"), 0).value(), "");
  EXPECT_EQ(ReadForeignFile(At("file"), 1 << 20).value().size(), 200'003U);
}

TEST_F(ForeignFile, ReadsNothingElseAndWaitsForNothing) {
  ASSERT_TRUE(WriteFileAtomic(At("file"), "text").ok());
  fs::create_symlink(At("file"), At("link"));
  fs::create_symlink("/dev/zero", At("endless"));
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  fs::create_directory(At("folder"));
  const FileDescriptor socket_file(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{AF_UNIX, {}};
  At("socket").string().copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(socket_file.number(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  for (const char* other : {"link", "endless", "pipe", "folder", "socket"}) {
    EXPECT_EQ(CodeOf(other), ErrorCode::kBadInput) << other;
  }
  EXPECT_EQ(CodeOf("absent"), ErrorCode::kNoInput);
}

TEST_F(ForeignFile, IsReadWholeOrNotAtAll) {
  ASSERT_TRUE(WriteFileAtomic(At("file"), "text").ok());
  fs::create_symlink(At("file"), At("link"));
  fs::create_symlink("/dev/zero", At("endless"));
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadRegularFile(At("file"), 4).value(), "text");
  EXPECT_EQ(ReadRegularFile(At("link"), 4).value(), "text");
  EXPECT_EQ(ReadRegularFile(At("file"), 3).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadRegularFile(At("endless"), 100).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadRegularFile(At("pipe"), 100).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadRegularFile(At("absent"), 100).error().code, ErrorCode::kNoInput);
}

TEST_F(ForeignFile, OfAFolderLiesInIt) {
  fs::create_directories(At("inside/images"));
  ASSERT_TRUE(WriteFileAtomic(At("outside"), "secret").ok());
  ASSERT_TRUE(WriteFileAtomic(At("inside/images/one"), "image").ok());
  fs::create_symlink("..", At("inside/up"));
  fs::create_symlink("../outside", At("inside/link"));
  ASSERT_EQ(mkfifo(At("inside/pipe").c_str(), 0600), 0);
  const auto read = [&](const fs::path& name) { return ReadFileInside(At("inside"), name, 100); };
  EXPECT_EQ(read("images/one").value(), "image");
  for (const fs::path& name : {fs::path("../outside"), At("outside"), fs::path("up/outside"),
                               fs::path("images/../../outside"), fs::path("link"), fs::path("pipe"),
                               fs::path("images"), fs::path(""), fs::path("images/one/two")}) {
    ASSERT_FALSE(read(name).ok()) << name;
    EXPECT_EQ(read(name).error().code, ErrorCode::kBadInput) << name;
  }
  EXPECT_EQ(read("images/two").error().code, ErrorCode::kNoInput);
}

}  // namespace
}  // namespace warpsmith
