#include "base/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/file.h"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

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

}  // namespace
}  // namespace warpsmith
