#include "agent/split/parts.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "agent/split/tests/split.h"
#include "task/task_file.h"

namespace warpsmith::split {
namespace {

using testing::HasSubstr;

class PartsTest : public testing::Test {
 protected:
  PartsTest() { WriteTestSplit(folder_.path()); }

  std::filesystem::path At(const std::string& path) const { return folder_.path() / path; }
  Result<std::vector<Part>> Load() const {
    return LoadSplit(At("split"), task::LoadTask(At("whole").string()).value().task);
  }
  void Refuses(const std::string& message) const {
    const auto split = Load();
    ASSERT_FALSE(split.ok()) << message;
    EXPECT_EQ(split.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(split.error().message, HasSubstr(message));
    EXPECT_EQ(split.error().Line().find('\n'), std::string::npos);
  }

  const std::string link_ = "parts-link-" + std::to_string(getpid());
  TemporaryDirectory folder_ = TemporaryDirectory::Create("parts").value();
};

TEST_F(PartsTest, PutsPartsInTheOrderInWhichTheyRun) {
  const auto parts = Load();
  ASSERT_TRUE(parts.ok()) << parts.error().Line();
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].name, "product");
  EXPECT_EQ((*parts)[1].name, "softmax");
  EXPECT_EQ((*parts)[1].values.at("rows"), "h");
  EXPECT_EQ((*parts)[1].values.at("y"), "y");
  EXPECT_TRUE(IsSplit(At("split")));
  EXPECT_FALSE(IsSplit(At("whole")));
  EXPECT_EQ(std::filesystem::path(WholeOf(At("split")).value()),
            std::filesystem::canonical(At("whole")));
}

TEST_F(PartsTest, FindTheWholeThroughALink) {
  std::filesystem::create_directory_symlink(At("split"), folder_.path().parent_path() / link_);
  const auto whole = WholeOf(folder_.path().parent_path() / link_);
  std::filesystem::remove(folder_.path().parent_path() / link_);
  EXPECT_EQ(whole.value(), std::filesystem::canonical(At("whole")));
}

TEST_F(PartsTest, RefusesATensorThatAPartLacks) {
  ChangeTest(At("split/parts.toml"), "rows = \"h\"", "columns = \"h\"");
  Refuses("part 'softmax' has no tensor 'columns'");
}

TEST_F(PartsTest, RefusesATensorThatNobodyMakes) {
  ChangeTest(At("split/parts.toml"), "rows = \"h\"", "rows = \"g\"");
  Refuses("part 'softmax' reads 'g', which is no input of the whole and which no part makes");
}

TEST_F(PartsTest, RefusesPartsThatWaitForEachOther) {
  ChangeTest(At("split/product/task.toml"), "tensors = [\n",
             "tensors = [\n" + TestTensor("y", "f16", "input", "\"M\", \"N\""));
  Refuses("the parts wait for each other in a circle: 'softmax', 'product'");
}

TEST_F(PartsTest, RefusesNamesThatAreThereTwice) {
  ChangeTest(At("split/parts.toml"), "name = \"product\"", "name = \"softmax\"");
  Refuses("expected each part once");
}

TEST_F(PartsTest, RefusesATensorOfTwoMakers) {
  ChangeTest(At("split/parts.toml"), "name = \"product\"",
             "name = \"product\", tensors = { h = \"y\" }");
  Refuses("makes 'y', which part 'softmax' makes, too");
  ChangeTest(At("split/parts.toml"), "h = \"y\"", "h = \"bias\"");
  Refuses("part 'product' makes 'bias', which is an input of the whole");
}

TEST_F(PartsTest, RefusesWhatNobodyReadsAndOutputsThatNobodyMakes) {
  ChangeTest(At("split/parts.toml"), "rows = \"h\"", "rows = \"h\", y = \"z\"");
  Refuses("no part makes the whole's output 'y'");
  ChangeTest(At("split/parts.toml"), ", y = \"z\"", "");
  ChangeTest(At("split/product/task.toml"), "tensors = [\n",
             "tensors = [\n" + TestTensor("more", "f32", "output", "\"M\""));
  Refuses("nobody reads 'more', which part 'product' makes");
}

TEST_F(PartsTest, RefusesATensorOfTwoTypesOrShapes) {
  ChangeTest(At("split/softmax/task.toml"), "\"rows\", dtype = \"f32\"",
             "\"rows\", dtype = \"f16\"");
  Refuses("part 'softmax': 'rows' is f16, and f32 where it comes from");
  ChangeTest(At("split/softmax/task.toml"), "\"rows\", dtype = \"f16\"",
             "\"rows\", dtype = \"f32\"");
  ChangeTest(At("split/softmax/task.toml"), "\"input\", shape = [\"M\", \"N\"]",
             "\"input\", shape = [\"N\", \"M\"]");
  Refuses("'rows' is 96 x 64 on workload 'small', and 64 x 96 where it comes from");
}

TEST_F(PartsTest, RefusesOtherWorkloads) {
  ChangeTest(At("split/softmax/task.toml"), "N = 37", "N = 38");
  Refuses("the workloads of part 'softmax' are not the whole's");
}

TEST_F(PartsTest, RefusesAReferenceThatIsNoPyTorch) {
  ChangeTest(At("split/softmax/task.toml"), "style = \"function\"", "style = \"module\"");
  Refuses("the reference of part 'softmax' is no PyTorch function");
  const auto split = LoadSplit(At("split"), task::LoadTask("hgemm:256x256x256:TN").value().task);
  ASSERT_FALSE(split.ok());
  EXPECT_THAT(split.error().message, HasSubstr("the whole's reference is of kind 'gemm'"));
}

TEST_F(PartsTest, RefusesPlacesOutsideOfItsFolder) {
  for (const char* name : {"../whole", "/tmp", "a/b", "..", ""}) {
    WriteTestSplit(folder_.path());
    ChangeTest(At("split/parts.toml"), "name = \"product\"",
               "name = \"" + std::string(name) + "\"");
    Refuses("expected the name of a folder here");
  }
}

TEST_F(PartsTest, RefusesFilesThatAreNone) {
  WriteTest(At("split/parts.toml"), "version = 2\n" + kTestSources);
  EXPECT_EQ(Load().error().code, ErrorCode::kVersion);
  WriteTest(At("split/parts.toml"), "version = 1\nwhole = \"../whole\"\nparts = []\n");
  Refuses("expected 2 to 32 parts");
  WriteTest(At("split/parts.toml"), "version = 1\nspeed = 3\n" + kTestSources);
  Refuses("speed");
  std::filesystem::remove(At("split/parts.toml"));
  EXPECT_EQ(Load().error().code, ErrorCode::kNoInput);
  EXPECT_THAT(Load().error().fix, HasSubstr("task split"));
}

}  // namespace
}  // namespace warpsmith::split
