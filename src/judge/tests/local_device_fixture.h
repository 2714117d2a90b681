// The whole judge over the fake driver: a LocalDevice, its oracle, and real runner processes that
// hang, crash and cheat.
#ifndef WARPSMITH_JUDGE_TESTS_LOCAL_DEVICE_FIXTURE_H_
#define WARPSMITH_JUDGE_TESTS_LOCAL_DEVICE_FIXTURE_H_

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "core/verdict.h"
#include "cuda/fake/fake_control.h"
#include "judge/fake/host_kernels.h"
#include "judge/local_device.h"
#include "judge/tests/gemm_launch.h"

namespace warpsmith::judge {

inline Task GemmTask(DType dtype = DType::kF16) {
  const Expression m = Expression::Literal("M"), n = Expression::Literal("N"),
                   k = Expression::Literal("K");
  Task task;
  task.name = "gemm";
  task.tensors = {{"A", dtype, Role::kInput, {m, k}, Generator::kNormal},
                  {"B", dtype, Role::kInput, {k, n}, Generator::kNormal},
                  {"C", dtype, Role::kOutput, {m, n}, Generator::kNormal}};
  task.reference = {"gemm", {{"layout", "NN"}}};
  task.tolerance.reduction_length = k;
  return task;
}

inline Job MakeJob(const std::string& kernel, int64_t m = 16, int64_t n = 16, int64_t k = 64) {
  Job job;
  job.key = kernel;
  job.task = GemmTask();
  job.workload = {"w", {{"M", m}, {"N", n}, {"K", k}}, 1, false};
  job.candidate.plan.operations = {GemmLaunch(kernel)};
  job.artifact.emplace();
  job.artifact->image = fake::CandidateImage(kernel);
  job.protocol.step_timeout_ms = 3'000;
  return job;
}

inline Job Bf16Job(const std::string& kernel, int64_t k = 64) {
  Job job = MakeJob(kernel, 16, 16, k);
  job.task = GemmTask(DType::kBF16);
  return job;
}

class JudgeOverFakeDriver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryDirectory::Create("judge-test");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryDirectory(std::move(folder).value());
    setenv("XDG_STATE_HOME", folder_->path().c_str(), 1);
    setenv("WARPSMITH_CUBLASLT", cuda::fake::CublasLtPath(), 1);
    fake::DefineKernels();
    auto device = LocalDevice::Open(Options());
    ASSERT_TRUE(device.ok()) << device.error().Line();
    device_ = std::move(device).value().release();
  }

  static void TearDownTestSuite() {
    delete device_;
    delete folder_;
  }

  static LocalDeviceOptions Options() {
    LocalDeviceOptions options;
    options.kernels = fake::KernelImage();
    options.compiler = &compiler_;
    options.standalone_argv = {"/bin/false"};  // host code has no opcodes, imports or sanitizers
    options.libraries = {WARPSMITH_GEMM_FILE};
    return options;
  }

  static std::vector<Completed> JudgeAll(std::vector<Job> jobs) {
    const size_t count = jobs.size();
    EXPECT_TRUE(device_->Submit(std::move(jobs)).ok());
    std::vector<Completed> completed;
    const double begin = MonotonicSeconds();
    while (completed.size() < count && MonotonicSeconds() - begin < 60) {
      auto some = device_->Collect(std::chrono::seconds(1));
      EXPECT_TRUE(some.ok());
      for (Completed& one : *some) completed.push_back(std::move(one));
    }
    EXPECT_EQ(completed.size(), count);
    return completed;
  }

  static Outcome JudgeKernel(const std::string& kernel, int64_t m = 16, int64_t n = 16) {
    return JudgeAll({MakeJob(kernel, m, n)}).at(0).verdict.outcome;
  }

  static void ExpectIncorrect(const Outcome& outcome, std::string_view detector) {
    const auto* incorrect = std::get_if<Incorrect>(&outcome);
    ASSERT_NE(incorrect, nullptr) << Describe(outcome);
    EXPECT_EQ(incorrect->detector, detector) << incorrect->detail;
  }

  static void ExpectRejected(const Outcome& outcome, std::string_view rule) {
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << Describe(outcome);
    EXPECT_EQ(rejected->rule, rule) << rejected->detail;
  }

  static void ExpectHonestPasses() {
    const Outcome outcome = JudgeKernel("honest");
    EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
  }

  static inline TemporaryDirectory* folder_ = nullptr;
  static inline LocalDevice* device_ = nullptr;

  // What is compiled is a name of a kernel of host_kernels.cc.
  class FakeCompiler : public Compiler {
   public:
    Result<CompileOutcome> Compile(const Candidate& candidate, const std::string&) override {
      Artifact artifact;
      const std::string& source = candidate.sources.at(candidate.entry);
      if (source == "syntax error") return CompileOutcome(CompileFailed{"line 1", "log", false});
      artifact.image = fake::RowSumImage(source);
      return CompileOutcome(std::move(artifact));
    }
  };
  static inline FakeCompiler compiler_;
};

// out[r] = the sum of row r of x, all f32.
inline Job RowSumJob(const std::string& kernel, const std::string& reference = "row-sum-f64") {
  const Expression one = Expression::Constant(1), r = Expression::Literal("R"),
                   l = Expression::Literal("L");
  LaunchOperation launch;
  launch.grid = launch.block = launch.cluster = {one, one, one};
  launch.arguments = {TensorArgument{"x"}, TensorArgument{"out"}, IntArgument{r}, IntArgument{l}};
  Job job;
  job.key = kernel;
  job.task.name = "row-sum";
  job.task.tensors = {{"out", DType::kF32, Role::kOutput, {r}},
                      {"x", DType::kF32, Role::kInput, {r, l}, Generator::kNormal}};
  job.task.reference.kind = "cuda";
  job.task.reference.sources = {{"reference.cu", reference}};
  job.task.reference.plan.emplace();
  launch.kernel = reference;
  job.task.reference.plan->operations = {launch};
  job.task.tolerance.reduction_length = l;
  job.workload = {"w", {{"R", 33}, {"L", 100}}, 1, false};
  launch.kernel = kernel;
  job.candidate.plan.operations = {launch};
  job.artifact.emplace();
  job.artifact->image = fake::RowSumImage(kernel);
  job.protocol.step_timeout_ms = 3'000;
  return job;
}

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TESTS_LOCAL_DEVICE_FIXTURE_H_
