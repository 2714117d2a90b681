#include "task/scaffold_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "task/task_file.h"

namespace warpsmith::task {
namespace {

class ScaffoldFolderTest : public testing::Test {
 protected:
  ScaffoldFolderTest() : folder_(TemporaryDirectory::Create("scaffold-folder").value()) {}
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory folder_;
};

constexpr const char* kKernel =
    "#include \"parts/tile.cuh\"\n#include \"elsewhere.h\"\n#include \"../secret.h\"\n"
    "extern \"C\" __global__ void f(const float* x, float* y, int n) {}\n";

TEST_F(ScaffoldFolderTest, BringsWhatTheFileIncludesOfItsFolder) {
  Write("secret.h", "no");
  Write("src/parts/tile.cuh", "#include \"warp.cuh\"\n#include \"tile.cuh\"\n");
  Write("src/parts/warp.cuh", "// warp");
  const auto input = ReadScaffoldInput(Write("src/my kernel.cu", kKernel), "");
  ASSERT_TRUE(input.ok()) << input.error().Line();
  EXPECT_EQ(input->name, "my-kernel");
  EXPECT_EQ(input->entry, "my kernel.cu");
  ASSERT_EQ(input->sources.size(), 3u);
  EXPECT_EQ(input->sources.at("parts/warp.cuh"), "// warp");
}

TEST_F(ScaffoldFolderTest, WritesATaskThatLoadsAndOverwritesNothing) {
  const auto input = ReadScaffoldInput(Write("my.cu", kKernel), "").value();
  const Scaffold scaffold = MakeScaffold(input).value();
  const auto out = folder_.path() / "tasks" / "my";
  ASSERT_TRUE(WriteScaffold(scaffold, out).ok());
  const auto loaded = LoadTask(out.string());
  ASSERT_TRUE(loaded.ok()) << loaded.error().Line();
  EXPECT_EQ(loaded->task.name, "my");
  const Status again = WriteScaffold(scaffold, out);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().fix.find("--out"), std::string::npos);
}

TEST_F(ScaffoldFolderTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(ReadScaffoldInput(folder_.path() / "none.cu", "").error().code, ErrorCode::kNoInput);
  EXPECT_EQ(ReadScaffoldInput(folder_.path(), "").error().code, ErrorCode::kBadInput);
  EXPECT_EQ(ReadScaffoldInput(Write("bytes.cu", "\xff\xfe"), "").error().code,
            ErrorCode::kBadInput);
}

}  // namespace
}  // namespace warpsmith::task
