// Naive products, and the judge that they are given to on a real GPU.
#ifndef WARPSMITH_TESTS_DEVICE_JUDGE_ON_DEVICE_H_
#define WARPSMITH_TESTS_DEVICE_JUDGE_ON_DEVICE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"
#include "compile/worker_compiler.h"
#include "core/verdict.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "judge/tests/gemm_launch.h"
#include "task/hgemm_task.h"

namespace warpsmith::judge {

inline constexpr int64_t kStepLimitMs = 2'000;

// One thread an element; `body` sees A, B, C, M, N, K, its m and n, and At(): C as laid out.
inline std::string Source(std::string_view body, std::string_view globals = "") {
  return R"(
typedef unsigned short u16;
typedef unsigned long long u64;
__device__ float F(u16 h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
__device__ u16 H(float f) { u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
__device__ bool IsNan(u16 h) { return (h & 0x7fff) > 0x7c00; }
__device__ float Dot(const u16* A, const u16* B, int m, int n, int N, int K) {
  float sum = 0;
  for (int k = 0; k < K; ++k) sum = fmaf(F(A[(u64)m * K + k]), F(B[(u64)k * N + n]), sum);
  return sum;
}
__device__ u16 Fma16(u16 a, u16 b, u16 c) {
  u16 d; asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d) : "h"(a), "h"(b), "h"(c)); return d;
}
// A check launch's output ends where its mapping does.
__device__ bool AtPageEnd(const u16* C, int M, int N) {
  return ((u64)(C + (u64)M * N) & 0x1fffff) == 0;
}
__device__ u64 Now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
)" + std::string(globals) +
         R"(
extern "C" __global__ void gemm(u16* A, u16* B, u16* C, int M, int N, int K) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 16 + threadIdx.y;
  if (m >= M || n >= N) return;
  const u64 at = (u64)m * N + n;
)" + std::string(body) +
         "\n}\n";
}

inline constexpr std::string_view kHonest = "C[at] = H(Dot(A, B, m, n, N, K));";

inline LaunchPlan NaivePlan() {
  LaunchOperation launch = GemmLaunch("gemm");
  const Expression one = Expression::Constant(1);
  launch.grid = {Expression::Literal("ceil_div(N, 16)"), Expression::Literal("ceil_div(M, 16)"),
                 one};
  launch.block = {Expression::Constant(16), Expression::Constant(16), one};
  LaunchPlan plan;
  plan.operations = {launch};
  return plan;
}

class JudgeOnDevice : public testing::Test {
 protected:
  static LocalDeviceOptions Options(int patience_ms) {
    LocalDeviceOptions options;
    options.kernels = *kernels_;
    options.compiler = compiler_;
    options.lock_patience = std::chrono::milliseconds(patience_ms);
    return options;
  }

  static void SetUpTestSuite() {
    auto folder = TemporaryDirectory::Create("judge-test");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryDirectory(std::move(folder).value());
    setenv("XDG_STATE_HOME", folder_->path().c_str(), 1);
    setenv("XDG_DATA_HOME", folder_->path().c_str(), 1);
    compile::CompilerOptions options;
    options.cache = folder_->path() / "artifacts";
    compiler_ = new compile::WorkerCompiler(options);
    const auto architecture = ArchitectureOfGpu("");
    ASSERT_TRUE(architecture.ok()) << architecture.error().Line();
    architecture_ = new std::string(*architecture);
    auto kernels = BuildJudgeKernels(*compiler_, *architecture_);
    ASSERT_TRUE(kernels.ok()) << kernels.error().Line();
    kernels_ = new std::string(*kernels);
    auto device = LocalDevice::Open(Options(0));
    ASSERT_TRUE(device.ok()) << device.error().Line();
    device_ = std::move(device).value().release();
  }

  static void TearDownTestSuite() {
    delete device_;
    delete kernels_;
    delete architecture_;
    delete compiler_;
    delete folder_;
  }

  void SetUp() override { ASSERT_NE(device_, nullptr) << "the device did not open"; }

  static Job MakeJob(const std::string& source, const task::HgemmShape& shape = {64, 64, 64},
                     const LaunchPlan& plan = NaivePlan()) {
    Job job;
    job.key = "job";
    job.task = task::HgemmTask("NN");
    job.task.baselines.clear();
    job.workload = task::HgemmWorkload(shape);
    job.candidate.sources["candidate.cu"] = source;
    job.candidate.entry = "candidate.cu";
    job.candidate.plan = plan;
    job.protocol.step_timeout_ms = kStepLimitMs;
    auto compiled = compiler_->Compile(job.candidate, *architecture_);
    EXPECT_TRUE(compiled.ok()) << compiled.error().Line();
    auto* artifact = std::get_if<Artifact>(&*compiled);
    EXPECT_NE(artifact, nullptr) << std::get<CompileFailed>(*compiled).log;
    if (artifact != nullptr) job.artifact = *artifact;
    return job;
  }

  static Verdict JudgeOne(const Job& job) {
    EXPECT_TRUE(device_->Submit({job}).ok());
    for (int i = 0; i < 120; ++i) {
      auto done = device_->Collect(std::chrono::seconds(1));
      EXPECT_TRUE(done.ok()) << done.error().Line();
      if (!done.ok()) break;
      if (!done->empty()) return done->front().verdict;
    }
    ADD_FAILURE() << "no verdict in two minutes";
    return {};
  }

  static Verdict JudgeSource(const std::string& source,
                             const task::HgemmShape& shape = {64, 64, 64}) {
    return JudgeOne(MakeJob(source, shape));
  }

  static void ExpectHonestStillPasses() {
    const Verdict verdict = JudgeSource(Source(kHonest));
    EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
  }

  static void ExpectIncorrect(const Verdict& verdict, std::string_view detector) {
    const auto* incorrect = std::get_if<Incorrect>(&verdict.outcome);
    ASSERT_NE(incorrect, nullptr) << Describe(verdict.outcome);
    EXPECT_EQ(incorrect->detector, detector) << incorrect->detail;
  }

  static void ExpectRejected(const Verdict& verdict, std::string_view rule) {
    const auto* rejected = std::get_if<Rejected>(&verdict.outcome);
    ASSERT_NE(rejected, nullptr) << Describe(verdict.outcome);
    EXPECT_EQ(rejected->rule, rule) << rejected->detail;
  }

  static void ExpectRunFailed(const Verdict& verdict, std::string_view code) {
    const auto* failed = std::get_if<RunFailed>(&verdict.outcome);
    ASSERT_NE(failed, nullptr) << Describe(verdict.outcome);
    EXPECT_EQ(failed->code, code) << failed->call << ": " << failed->detail;
  }

  static inline TemporaryDirectory* folder_ = nullptr;
  static inline compile::WorkerCompiler* compiler_ = nullptr;
  static inline std::string* architecture_ = nullptr;
  static inline std::string* kernels_ = nullptr;
  static inline LocalDevice* device_ = nullptr;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_TESTS_DEVICE_JUDGE_ON_DEVICE_H_
