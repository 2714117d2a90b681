#include "task/kernelbench/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace warpsmith::kernelbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ReadInspection, TakesTensorsAndNumbers) {
  const auto read = ReadInspection(
      R"({"path": "p", "ok": true, "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]},
          {"name": "s", "value": 3.14}, {"name": "k", "value": -7}, {"name": "f", "value": true}],
          "parameters": [], "outputs": [{"name": "output", "dtype": "i64", "shape": []}],
          "bytes": 32})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->inputs[0].tensor.shape, ElementsAre(2, 3));
  EXPECT_EQ(read->inputs[1].type + " " + read->inputs[1].literal, "double 3.14");
  EXPECT_EQ(read->inputs[2].type + " " + read->inputs[2].literal, "int64_t -7");
  EXPECT_EQ(read->inputs[3].type + " " + read->inputs[3].literal, "bool true");
  EXPECT_EQ(read->outputs[0].dtype, DType::kI64);
  EXPECT_THAT(read->outputs[0].shape, IsEmpty());
}

TEST(ReadInspection, KeepsTheReason) {
  EXPECT_EQ(ReadInspection(R"({"path": "p", "ok": false, "reason": "no einops"})").error().message,
            "no einops");
  for (const char* bad : {"", "{}", "[]", R"({"ok": true})",
                          R"({"ok": true, "inputs": [{"name": "x", "dtype": "f8", "shape": []}]})",
                          R"({"ok": true, "inputs": [{"name": "x", "value": null}]})"}) {
    EXPECT_FALSE(ReadInspection(bad).ok()) << bad;
  }
}

// The script itself, on problems of our own. Skipped where Python has no torch.
class InspectionRun : public ::testing::Test {
 protected:
  BenchmarkProblem Write(int number, const std::string& text) {
    const auto path = folder_.path() / (std::to_string(number) + "_p.py");
    EXPECT_TRUE(WriteFileAtomic(path, "import torch\nfrom torch import nn\n" + text).ok());
    return {1, number, std::to_string(number) + "_p", path};
  }
  TemporaryDirectory folder_ = TemporaryDirectory::Create("inspection").value();
};

constexpr const char* kLinear = R"(
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, 3)
        self.bn = nn.BatchNorm1d(3)
    def forward(self, x, scale):
        return self.bn(self.fc(x)) * scale
def get_inputs():
    return [torch.rand(1 << 32, 7), 0.5]
def get_init_inputs():
    return [7]
)";
constexpr const char* kNoReturn = R"(
class Model(nn.Module):
    def forward(self, x): return None
def get_inputs(): return [torch.rand(2)]
def get_init_inputs(): return []
)";
constexpr const char* kEndless = R"(
class Model(nn.Module): pass
def get_inputs(): return []
def get_init_inputs(): return []
while True: pass
)";
constexpr const char* kDies = "import os; os._exit(3)\n";
constexpr const char* kDrawsItsSizes = R"(
class Model(nn.Module):
    def forward(self, x, s): return x * s
def get_inputs(): return [torch.rand(2), float(__import__('random').random())]
def get_init_inputs(): return []
)";

constexpr const char* kTakesAList = R"(
class Model(nn.Module):
    def forward(self, xs): return xs[0] + xs[1]
def get_inputs(): return [[torch.rand(2, 3), torch.rand(2, 3)]]
def get_init_inputs(): return []
)";

TEST_F(InspectionRun, FindsShapesWithoutMemoryAndGivesReasons) {
  const std::vector<BenchmarkProblem> problems = {
      Write(1, kLinear),   Write(2, kNoReturn), Write(3, kEndless),       Write(4, kDies),
      Write(5, "x = 1\n"), Write(6, "x =\n"),   Write(7, kDrawsItsSizes), Write(8, kTakesAList)};
  const auto inspected =
      Inspect(problems, {.jobs = 2, .seconds = 20, .bytes = int64_t{8} << 30}, {});
  if (!inspected.ok()) GTEST_SKIP() << inspected.error().message;
  const Result<ModuleInspection>& linear = inspected->at("level1/1_p");
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  EXPECT_THAT(linear->inputs[0].tensor.shape, ElementsAre(int64_t{1} << 32, 7));
  EXPECT_EQ(linear->inputs[0].tensor.name, "x");
  EXPECT_EQ(linear->inputs[1].literal, "0.5");
  EXPECT_EQ(linear->parameters.size(), 7U);
  EXPECT_EQ(linear->parameters[0].name, "fc.weight");
  EXPECT_THAT(linear->parameters[0].shape, ElementsAre(3, 7));
  EXPECT_THAT(linear->outputs[0].shape, ElementsAre(int64_t{1} << 32, 3));
  const auto reason = [&](int number) {
    const auto& one = inspected->at("level1/" + std::to_string(number) + "_p");
    return one.ok() ? "" : one.error().message;
  };
  EXPECT_THAT(reason(2), HasSubstr("returns a NoneType"));
  EXPECT_THAT(reason(3), HasSubstr("time limit"));
  EXPECT_THAT(reason(4), HasSubstr("ended without an answer"));
  EXPECT_THAT(reason(5), HasSubstr("defines no Model"));
  EXPECT_THAT(reason(6), HasSubstr("SyntaxError"));
  EXPECT_THAT(reason(7), HasSubstr("draws a number"));
  EXPECT_THAT(reason(8), HasSubstr("xs is a list, not a tensor"));
}

// The module's whole numbers (batch norm counts its batches) stay what they are.
TEST_F(InspectionRun, CastsFloatingTensorsWhereAskedTo) {
  const auto inspected = Inspect({Write(1, kLinear)}, {}, DType::kF16);
  if (!inspected.ok()) GTEST_SKIP() << inspected.error().message;
  const Result<ModuleInspection>& linear = inspected->at("level1/1_p");
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  EXPECT_EQ(linear->inputs[0].tensor.dtype, DType::kF16);
  EXPECT_EQ(linear->outputs[0].dtype, DType::kF16);
  for (const TensorRow& row : linear->parameters) {
    EXPECT_EQ(row.dtype, row.shape.empty() ? DType::kI64 : DType::kF16) << row.name;
  }
}

TEST_F(InspectionRun, SaysThatThePythonIsNone) {
  const char* before = std::getenv("WARPSMITH_PYTHON");
  const std::string kept = before == nullptr ? "" : before;
  setenv("WARPSMITH_PYTHON", "/bin/true", 1);
  const auto inspected = Inspect({Write(1, kLinear)}, {}, {});
  if (before == nullptr) {
    unsetenv("WARPSMITH_PYTHON");
  } else {
    setenv("WARPSMITH_PYTHON", kept.c_str(), 1);
  }
  ASSERT_FALSE(inspected.ok());
  EXPECT_EQ(inspected.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(inspected.error().message, HasSubstr("/bin/true: it ended without an answer"));
}

}  // namespace
}  // namespace warpsmith::kernelbench
