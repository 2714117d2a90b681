#include "task/kernelbench/checkout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace warpsmith::kernelbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckoutTest : public ::testing::Test {
 protected:
  void Write(const std::filesystem::path& path, std::string_view text) {
    ASSERT_TRUE(CreateDirectories((folder_.path() / path).parent_path()).ok());
    ASSERT_TRUE(WriteFileAtomic(folder_.path() / path, text).ok());
  }
  std::vector<std::string> Ids() {
    const auto checkout = OpenCheckout(folder_.path());
    std::vector<std::string> ids;
    if (!checkout.ok()) return {checkout.error().message};
    for (const BenchmarkProblem& problem : checkout->problems) ids.push_back(Id(problem));
    return ids;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("checkout").value();
};

TEST_F(CheckoutTest, FindsModulesByLevelAndNumber) {
  Write("KernelBench/level1/10_Last_.py", "def get_inputs(): pass");
  Write("KernelBench/level1/9_First.py", "def get_inputs(): pass");
  Write("KernelBench/level2/1_Other.py", "def get_inputs(): pass");
  Write("KernelBench/level1/11_Odd.py", "no inputs: to be refused in words, not passed over");
  Write("KernelBench/level1/notes.txt", "get_inputs");
  Write("KernelBench/levels/1_Not.py", "get_inputs");
  EXPECT_THAT(Ids(),
              ElementsAre("level1/9_First", "level1/10_Last", "level1/11_Odd", "level2/1_Other"));
  EXPECT_EQ(OpenCheckout(folder_.path())->kind, Kind::kModules);
}

TEST_F(CheckoutTest, FindsDrivers) {
  Write("data/kernelbench-cuda/level1/019_ReLU/driver.cpp", "");
  Write("data/kernelbench-cuda/level1/020_Empty/readme", "");
  Write("data/kernelbench-cuda/level1/021_File", "");
  Write("data/kernelbench-cuda/level1/022_Script.py", "");
  EXPECT_THAT(Ids(), ElementsAre("level1/019_ReLU", "level1/020_Empty"));
  EXPECT_EQ(OpenCheckout(folder_.path())->kind, Kind::kDrivers);
}

TEST_F(CheckoutTest, SaysWhatItLookedFor) {
  Write("level1/1_Odd.py", "no inputs");
  Write("level1/002_Odd/init.cu", "");
  EXPECT_THAT(Ids(), ElementsAre(HasSubstr("no task set that is known")));
  EXPECT_EQ(OpenCheckout(folder_.path() / "absent").error().code, ErrorCode::kNoInput);
}

TEST(Picking, TakesLevelsNumbersAndNames) {
  const BenchmarkProblem problem{1, 19, "019_ReLU", {}};
  for (const char* pattern :
       {"level1", "level1/19", "level1/019", "level1/019_ReLU", "level1/19_ReLU"}) {
    EXPECT_TRUE(IsPickedBy(problem, pattern)) << pattern;
  }
  for (const char* pattern : {"", "level", "level2", "level1/1", "level1/190", "level11", "19",
                              "level1/", "level1/019_", "level1/-19", "level1/19_GELU"}) {
    EXPECT_FALSE(IsPickedBy(problem, pattern)) << pattern;
  }
}

}  // namespace
}  // namespace warpsmith::kernelbench
