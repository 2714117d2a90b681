#include "sandbox/path_rules.h"

#include <gmock/gmock.h>

#include "base/file.h"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class PathRulesTest : public testing::Test {
 protected:
  PathRulesTest() : folder_(TemporaryDirectory::Create("warpsmith-rules-test").value()) {
    for (const char* file : {"lib/libcublas.so.13", "lib/libm.so", "lib/deep/libcublasLt.so",
                             "lib/deep/other", "share/text"}) {
      const fs::path path = Folder() / file;
      EXPECT_TRUE(CreateDirectories(path.parent_path()).ok());
      EXPECT_TRUE(WriteFileAtomic(path, "x").ok());
    }
    fs::create_symlink("libcublas.so.13", Folder() / "lib/link.so");
  }
  fs::path Folder() const { return fs::canonical(folder_.path()); }

  // Each as "access path", relative to the folder.
  std::vector<std::string> Texts(const std::vector<PathRule>& rules) const {
    std::vector<std::string> texts;
    for (const PathRule& rule : rules) {
      texts.push_back(std::to_string(static_cast<int>(rule.access)) + " " +
                      rule.path.lexically_relative(Folder()).string());
    }
    return texts;
  }

  TemporaryDirectory folder_;
};

TEST_F(PathRulesTest, HiddenFilesAreFoundByNameAndByPath) {
  const std::vector<PathRule> rules = {{Folder(), Access::kRead}};
  EXPECT_THAT(FilesMatching(rules, {"libcublas*"}),
              ElementsAre(Folder() / "lib/deep/libcublasLt.so", Folder() / "lib/libcublas.so.13"));
  EXPECT_THAT(FilesMatching(rules, {"*/deep/*"}),
              ElementsAre(Folder() / "lib/deep/libcublasLt.so", Folder() / "lib/deep/other"));
  EXPECT_THAT(FilesMatching(rules, {"libcudnn*"}), IsEmpty());
  EXPECT_THAT(FilesMatching(rules, {}), IsEmpty());
}

TEST_F(PathRulesTest, HiddenFilesAreThoseThatLieUnderTheRules) {
  const std::vector<PathRule> rules = {{Folder() / "lib", Access::kRead}};
  const fs::path file = Folder() / "lib/libcublas.so.13", deep = Folder() / "lib/deep/other";
  EXPECT_THAT(FilesUnder(rules, {file, deep}), ElementsAre(deep, file));
  for (const char* other :
       {"lib/absent", "lib/deep", "lib/link.so", "share/text", "../etc/passwd"}) {
    EXPECT_THAT(FilesUnder(rules, {Folder() / other}), IsEmpty()) << other;
  }
}

TEST_F(PathRulesTest, OnlyFoldersWithHiddenFilesAreSplit) {
  const std::vector<PathRule> rules = {{Folder(), Access::kRead}};
  EXPECT_THAT(Texts(WithoutHidden(rules, FilesMatching(rules, {"libcublas.so*"}))),
              UnorderedElementsAre("0 .", "1 share", "0 lib", "1 lib/libm.so", "1 lib/deep"));
  EXPECT_THAT(Texts(WithoutHidden(rules, {})), ElementsAre("1 ."));
}

TEST_F(PathRulesTest, PathsThatDoNotExistAndRelativeOnesGrantNothing) {
  Policy policy;
  policy.readable = {"/nonexistent/folder", "relative", Folder() / "lib"};
  policy.writable = {Folder()};
  std::vector<fs::path> named;
  for (const PathRule& rule : NamedPaths(policy)) {
    if (rule.access != Access::kDevice) named.push_back(rule.path);
  }
  EXPECT_THAT(named, ElementsAre(Folder(), Folder() / "lib"));
}

TEST(NodeOfGpu, IsTheOneWithTheUuid) {
  const auto facts = TemporaryDirectory::Create("gpus").value();
  for (const auto& [bus, minor, uuid] :
       {std::tuple{"0000:18:00.0", "0", "GPU-aaaa"}, {"0000:2a:00.0", "11", "GPU-bbbb"}}) {
    const std::filesystem::path folder = facts.path() / "gpus" / bus;
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(WriteFileAtomic(folder / "information",
                                std::string("Model: \t\t NVIDIA H200\nGPU UUID:   \t ") + uuid +
                                    "\nBus Type: \t PCIe\nDevice Minor: \t " + minor +
                                    "\nGPU Excluded:\t No\n")
                    .ok());
  }
  EXPECT_EQ(NodeOfGpu(facts.path(), "GPU-bbbb"), "/dev/nvidia11");
  EXPECT_EQ(NodeOfGpu(facts.path(), "GPU-aaaa"), "/dev/nvidia0");
  EXPECT_EQ(NodeOfGpu(facts.path(), "GPU-cccc"), "/dev/nvidia[0-9]*");
  EXPECT_EQ(NodeOfGpu(facts.path() / "none", "GPU-aaaa"), "/dev/nvidia[0-9]*");
}

}  // namespace
}  // namespace warpsmith::sandbox
