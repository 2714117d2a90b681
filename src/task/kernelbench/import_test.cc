// Whole imports of checkouts of our own: Python and drivers run for real, on the CPU. Skipped where
// Python has no torch.
#include "task/kernelbench/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/subprocess.h"
#include "judge/torch/torch_process.h"
#include "task/task_file.h"

namespace warpsmith::kernelbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool PythonHasTorch() {
  const Result<std::string> python = torch::FindPython();
  if (!python.ok()) return false;
  const auto ran = RunProcess({*python, "-c", "import torch"}, {});
  return ran.ok() && !ran->timed_out && ran->signal == 0 && ran->exit_status == 0;
}

class ImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PythonHasTorch()) GTEST_SKIP() << "no Python with torch (WARPSMITH_PYTHON)";
    // Torch's headers take half a minute to compile: what was made of them is kept between runs.
    const auto cache = std::filesystem::temp_directory_path() /
                       ("warpsmith-import-test-" + std::to_string(getuid()));
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    options_.checkout = folder_.path() / "checkout";
    options_.output = folder_.path() / "tasks";
    options_.jobs = 2;
  }
  void Write(const std::filesystem::path& path, const std::string& text) {
    ASSERT_TRUE(CreateDirectories((folder_.path() / path).parent_path()).ok());
    ASSERT_TRUE(WriteFileAtomic(folder_.path() / path, text).ok());
  }
  std::vector<ImportRow> Rows() {
    const auto result = Import(options_, [](const ImportRow&) {});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().Line());
    return result.ok() ? result->rows : std::vector<ImportRow>{};
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("import").value();
  ImportOptions options_;
};

constexpr const char* kModule = R"(
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 5)
    def forward(self, x):
        return torch.relu(self.fc(x))
def get_inputs():
    return [torch.rand(4, 6)]
def get_init_inputs():
    return []
)";

TEST_F(ImportTest, MakesTasksOfModulesAndKeepsThem) {
  Write("checkout/KernelBench/level1/1_Linear.py", kModule);
  Write("checkout/KernelBench/level1/2_Broken.py", "get_inputs = 1 +\n");
  options_.set = "own";
  const std::vector<ImportRow> rows = Rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].outcome, Outcome::kImported) << rows[0].text;
  EXPECT_EQ(rows[0].bytes, 4 * (4 * 5 + 4 * 6 + 5 * 6 + 5));
  EXPECT_EQ(rows[1].outcome, Outcome::kRefused);
  EXPECT_THAT(rows[1].text, HasSubstr("SyntaxError"));
  const auto loaded =
      task::LoadTask((options_.output / "kernelbench-own/level1/1_Linear").string());
  ASSERT_TRUE(loaded.ok()) << loaded.error().Line();
  EXPECT_EQ(loaded->task.name, "kernelbench-own/level1/1_Linear");
  EXPECT_EQ(loaded->task.reference.sources.at("model.py"), kModule);
  EXPECT_EQ(Rows()[0].outcome, Outcome::kKept);
  options_.only = {"level1/1", "level1/3", "level1/2_Other"};
  const std::vector<ImportRow> picked = Rows();
  ASSERT_EQ(picked.size(), 3U);
  EXPECT_EQ(picked[0].outcome, Outcome::kKept);
  EXPECT_EQ(picked[1].problem, "level1/3");
  EXPECT_EQ(picked[1].outcome, Outcome::kRefused);
  EXPECT_THAT(picked[2].text, HasSubstr("picks no problem"));
  options_.only = {"level2"};
  EXPECT_EQ(Import(options_, [](const ImportRow&) {}).error().code, ErrorCode::kUsage);
}

TEST_F(ImportTest, NamesNoFolderOutsideOfItsOwnAndSaysWhereItCannotWrite) {
  Write("checkout/KernelBench/level1/1_Linear.py", kModule);
  options_.set = "../../elsewhere";
  EXPECT_EQ(Import(options_, [](const ImportRow&) {}).error().code, ErrorCode::kUsage);
  options_.set = "own";
  options_.output = "/proc/no-such-folder";
  EXPECT_EQ(Import(options_, [](const ImportRow&) {}).error().code, ErrorCode::kIo);
  // A folder that could be made, and a problem's below it that cannot.
  options_.output = folder_.path() / "tasks";
  Write("tasks/kernelbench-own/level1", "a file");
  EXPECT_EQ(Import(options_, [](const ImportRow&) {}).error().code, ErrorCode::kIo);
}

TEST_F(ImportTest, DriversKeepTheirElementTypes) {
  Write("checkout/level1/001_All/driver.cpp", "int main() {}\n");
  options_.dtype = DType::kF16;
  const auto refused = Import(options_, [](const ImportRow&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--dtype"));
}

// As KernelBench-CUDA writes them, but on the CPU, and with every kind of argument.
constexpr const char* kDriver = R"(
#include <torch/torch.h>
#include <iostream>
#include "cuda_model.cuh"
void launch_gpu_implementation(void* output, const void* x, void* w, void* b, void** both,
                               const int64_t* shape, int64_t shape_len,
                               const std::vector<int64_t>& dims, float eps, bool flag, void* none);
int main() {
  torch::manual_seed(42);
  auto x = torch::randn({4, 6});
  torch::nn::Linear fc(6, 5);
  fc->to(torch::kDouble);
  fc->to(torch::kFloat);
  auto expected = torch::relu(fc->forward(x));
  auto output = torch::full_like(expected, NAN);
  std::vector<int64_t> shape{4, 1};
  std::vector<void*> both{fc->weight.data_ptr(), fc->bias.data_ptr()};
  launch_gpu_implementation(output.data_ptr(), x.data_ptr<float>(), fc->weight.data_ptr(),
                            fc->bias.data_ptr<void>(), both.data(), shape.data(), shape.size(), {1, 2},
                            1e-5f, true, nullptr);
  std::cout << (!output.isnan().any().item<bool>() &&
                torch::allclose(output.to(torch::kDouble), expected.to(torch::kDouble), 1e-1, 1e-2));
}
)";
// Two biases that differ in an extent of 1, and two factors whose names mislead.
constexpr const char* kBiases = R"(
#include <torch/torch.h>
void launch_gpu_implementation(void* output, void* x, void* w, void* one, void* two,
                               void* its_shift, void* its_gain);
int main() {
  auto x = torch::randn({4, 6}), one = torch::randn({1, 5}), gain = torch::randn({5});
  auto shift = torch::randn({5});
  torch::nn::Linear fc(6, 5);
  auto expected = (torch::relu(fc->forward(x)) + one) * gain + shift;
  torch::full({4, 5}, NAN);  // whose memory the next tensor gets
  auto output = torch::empty_like(expected);
  launch_gpu_implementation(output.data_ptr(), x.data_ptr(), fc->weight.data_ptr(), one.data_ptr(),
                            fc->bias.data_ptr(), gain.data_ptr(), shift.data_ptr());
  return !torch::isnan(output).any().item<bool>() && torch::allclose(output, expected, 1e-3, 1e-3);
}
)";
constexpr const char* kBiasesModule = R"(
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 5)
        self.bias = nn.Parameter(torch.randn(1, 5))
        self.gain = nn.Parameter(torch.randn(5))
        self.shift = nn.Parameter(torch.randn(5))
    def forward(self, x):
        return (torch.relu(self.fc(x)) + self.bias) * self.gain + self.shift
def get_inputs():
    return [torch.rand(4, 6)]
def get_init_inputs():
    return []
)";
const std::string kHead =
    "#include <torch/torch.h>\n#include \"cuda_model.cuh\"\n"
    "void launch_gpu_implementation(void* out, void* in, int n);\n";

TEST_F(ImportTest, TakesDriversApart) {
  Write("checkout/level1/001_All/driver.cpp", kDriver);
  Write("checkout/level1/001_All/init.cu", "void launch_gpu_implementation(void* output) {}\n");
  Write("checkout/level1/002_Silent/driver.cpp",
        kHead +
            "int main() { auto x = torch::rand({8}); auto y = torch::empty_like(x);\n"
            "launch_gpu_implementation(y.data_ptr(), x.data_ptr(), 8); }\n");
  Write("checkout/level1/003_Broken/driver.cpp", kHead + "int main() { auto x = torch::no(; }\n");
  Write("checkout/level1/004_Crash/driver.cpp",
        kHead + "int main() { *static_cast<volatile int*>(nullptr) = 1; }\n");
  Write("checkout/level1/005_Undeclared/driver.cpp", "int main() {}\n");
  Write("checkout/level1/006_InPlace/driver.cpp",
        kHead +
            "int main() { auto x = torch::rand({8}); auto y = torch::relu(x);\n"
            "launch_gpu_implementation(x.data_ptr(), x.data_ptr(), 8);\n"
            "return torch::allclose(x, y); }\n");
  Write("checkout/level1/007_Throws/driver.cpp",
        kHead + "int main() { throw std::runtime_error(\"no such device\"); }\n");
  std::string other = kDriver;
  other.replace(other.find("torch::relu"), 11, "torch::tanh");
  Write("checkout/level1/008_Other/driver.cpp", other);
  Write("checkout/level1/009_Biases/driver.cpp", kBiases);
  Write("checkout/level1/009_Biases/init.cu",
        "extern \"C\" void launch_gpu_implementation(void*, void*, void*, void*, void*,"
        "void*, void*) {}\n");
  Write("python/level1/1_Linear.py", kModule);
  Write("python/level1/8_Linear.py", kModule);
  Write("python/level1/9_Biases.py", kBiasesModule);
  options_.modules = folder_.path() / "python";
  const std::vector<ImportRow> rows = Rows();
  ASSERT_EQ(rows.size(), 9U);
  EXPECT_EQ(rows[0].outcome, Outcome::kImported) << rows[0].text;
  EXPECT_THAT(rows[1].text, HasSubstr("no torch::allclose"));
  EXPECT_THAT(rows[2].text, HasSubstr("error:"));
  EXPECT_THAT(rows[3].text, HasSubstr("Segmentation fault"));
  EXPECT_THAT(rows[4].text, HasSubstr("is not declared"));
  EXPECT_THAT(rows[5].text, HasSubstr("in place"));
  EXPECT_THAT(rows[6].text, HasSubstr("throws: no such device"));
  EXPECT_THAT(rows[0].text, HasSubstr("(1, not 11): it cannot load"));
  EXPECT_EQ(rows[7].outcome, Outcome::kImported);
  EXPECT_THAT(rows[7].text, HasSubstr("no torch baseline: the module gives other outputs"));
  EXPECT_THAT(rows[8].text, HasSubstr("has C linkage"));
  const auto biases =
      task::LoadTask((options_.output / "kernelbench-cuda/level1/009_Biases").string());
  ASSERT_TRUE(biases.ok()) << biases.error().Line();
  EXPECT_THAT(biases->task.program->declaration, HasSubstr("extern \"C\""));
  EXPECT_EQ(biases->task.reference.options.at("parameters"),
            "bias=one,gain=its_shift,shift=its_gain,fc.weight=w,fc.bias=two");

  const auto loaded =
      task::LoadTask((options_.output / "kernelbench-cuda/level1/001_All").string());
  ASSERT_TRUE(loaded.ok()) << loaded.error().Line();
  const Task& task = loaded->task;
  EXPECT_THAT(
      task.program->arguments,
      ElementsAre("output", "x", "w", "b", "std::vector<void*>{tensors[2], tensors[3]}.data()",
                  "std::vector<int64_t>{4, 1}.data()", "2", "std::vector<int64_t>{1, 2}",
                  "9.99999975e-06f", "true", "nullptr"));
  EXPECT_EQ(task.tolerance.absolute, 1e-2);
  EXPECT_EQ(task.tensors[2].shape, (std::vector{Expression::Constant(5), Expression::Constant(6)}));
  EXPECT_THAT(task.baselines, ElementsAre("torch-best"));
  EXPECT_EQ(task.reference.options.at("parameters"), "fc.weight=w,fc.bias=b");
  EXPECT_EQ(Rows()[0].outcome, Outcome::kKept);
}

TEST_F(ImportTest, EndsADriverThatDoesNot) {
  Write("checkout/level1/001_Forever/driver.cpp", kHead + "int main() { for (;;) puts(\"x\"); }\n");
  options_.limit_seconds = 1;
  EXPECT_THAT(Rows()[0].text, HasSubstr("did not end within 1 s"));
}

}  // namespace
}  // namespace warpsmith::kernelbench
