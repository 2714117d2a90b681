// The judge on a real GPU: honest candidates pass, each cheat gets its verdict, and the next job is
// unharmed. Sources are compiled here, by NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "compile/worker_compiler.h"
#include "core/verdict.h"
#include "judge/kernels.h"
#include "judge/local_device.h"
#include "judge/runner.h"
#include "task/hgemm_task.h"
#include "util/file.h"

namespace warpsmith::judge {
namespace {

constexpr int64_t kStepLimitMs = 2'000;

// One thread an element; `body` sees A, B, C, M, N, K, its m and n, and At(): C as laid out.
std::string Source(std::string_view body, std::string_view globals = "") {
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

constexpr std::string_view kHonest = "C[at] = H(Dot(A, B, m, n, N, K));";

LaunchPlan NaivePlan() {
  LaunchOperation launch;
  launch.kernel = "gemm";
  const Expression one = Expression::Constant(1);
  launch.grid = {Expression::Literal("ceil_div(N, 16)"), Expression::Literal("ceil_div(M, 16)"),
                 one};
  launch.block = {Expression::Constant(16), Expression::Constant(16), one};
  launch.cluster = {one, one, one};
  launch.arguments = {TensorArgument{"A"},
                      TensorArgument{"B"},
                      TensorArgument{"C"},
                      IntArgument{Expression::Literal("M")},
                      IntArgument{Expression::Literal("N")},
                      IntArgument{Expression::Literal("K")}};
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

TEST_F(JudgeOnDevice, HonestPassesScreening) {
  const Verdict verdict = JudgeSource(Source(kHonest));
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(verdict.outcome);
  EXPECT_EQ(passed->level, Level::kScreened);
  EXPECT_TRUE(passed->correctness.deterministic);
  EXPECT_LE(passed->correctness.worst_bound_fraction, 1);
  EXPECT_GT(passed->correctness.worst_bound_fraction, 0);
  EXPECT_GT(passed->correctness.outputs_verified, 100);
  const ModeTiming* timing = FindTiming(verdict, Mode::kDeviceHot);
  ASSERT_NE(timing, nullptr);
  EXPECT_EQ(timing->candidate.samples.size(), 6U);
  EXPECT_GT(timing->candidate.median_us, 0.5);
  EXPECT_LT(timing->candidate.median_us, 1000);
  EXPECT_FALSE(timing->below_floor);
  const Verdict again = JudgeSource(Source(kHonest));
  RecordProperty("screened_judge_ms", std::to_string(again.evidence.judge_ms));
  std::printf("screened: first %.1f ms, then %.1f ms, candidate %.3f us\n",
              verdict.evidence.judge_ms, again.evidence.judge_ms, timing->candidate.median_us);
}

TEST_F(JudgeOnDevice, HonestPassesInBothLayoutsAndAtRaggedSizes) {
  for (const task::HgemmShape& shape :
       {task::HgemmShape{65, 63, 33}, {1, 1, 1}, {64, 128, 4096}, {300, 200, 100}}) {
    const Verdict verdict = JudgeSource(Source(kHonest), shape);
    EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome))
        << Name(shape) << ": " << Describe(verdict.outcome);
  }
  std::string transposed = Source(kHonest);
  const std::string_view nn = "B[(u64)k * N + n]";
  transposed.replace(transposed.find(nn), nn.size(), "B[(u64)n * K + k]");
  Job job = MakeJob(transposed, {64, 128, 96});
  job.task = task::HgemmTask("TN");
  job.task.baselines.clear();
  const Verdict verdict = JudgeOne(job);
  EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
}

TEST_F(JudgeOnDevice, HonestIsCertifiedInEveryModeBesideTheBaselines) {
  Job job = MakeJob(Source(kHonest), {256, 256, 256});
  job.task.baselines = {"cublaslt-auto", "cublas-nn"};
  job.protocol = Protocol::Certified();
  const Verdict verdict = JudgeOne(job);
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(verdict.outcome);
  EXPECT_FALSE(verdict.evidence.baseline_library.empty());
  for (Mode mode : job.protocol.modes) {
    const ModeTiming* timing = FindTiming(verdict, mode);
    ASSERT_NE(timing, nullptr) << Name(mode);
    ASSERT_EQ(timing->comparisons.size(), 2U);
    EXPECT_EQ(timing->baselines.size(), 3U) << "two baselines and the bar again";
    EXPECT_LT(timing->comparisons[0].ratio, 1) << "a naive kernel beats no library";
    EXPECT_LT(timing->aa_noise, 0.2);
    std::printf("certified %-12s %8.3f us, bar %8.3f us, ratio %.4f [%.4f, %.4f], A/A %.4f\n",
                std::string(Name(mode)).c_str(), timing->candidate.median_us,
                timing->baselines[0].median_us, timing->comparisons[0].ratio,
                timing->comparisons[0].interval.lo, timing->comparisons[0].interval.hi,
                timing->aa_noise);
  }
  std::printf("certified: %.0f ms\n", verdict.evidence.judge_ms);
}

TEST_F(JudgeOnDevice, HangingIsTimedOutAndTheNextJobIsUnharmed) {
  const Verdict verdict = JudgeSource(
      Source("const u64 start = Now(); while (Now() - start < 1000000000000ull) {} C[at] = 0;"));
  const auto* late = std::get_if<TimedOut>(&verdict.outcome);
  ASSERT_NE(late, nullptr) << Describe(verdict.outcome);
  EXPECT_EQ(late->limit_ms, kStepLimitMs);
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, IllegalAddressFailsAndTheNextJobIsUnharmed) {
  ExpectRunFailed(JudgeSource(Source("*(volatile int*)0x10000 = 1; C[at] = 0;")),
                  "CUDA_ERROR_ILLEGAL_ADDRESS");
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, WritingPastTheEndFaults) {
  const std::string source = Source(std::string(kHonest) + " if (at == 0) C[(u64)M * N] = 0x3c00;");
  ExpectRunFailed(JudgeSource(source), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(JudgeOnDevice, ReadingPastTheEndFaults) {
  const std::string source =
      Source(std::string(kHonest) + " if (at == 0 && A[(u64)M * K] == 0x7fff) C[at] = 0;");
  ExpectRunFailed(JudgeSource(source), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(JudgeOnDevice, WritingIntoAGuardIsRejected) {
  const std::string past = Source(std::string(kHonest) + " if (at == 0) C[(u64)M * N] = 0x3c00;");
  ExpectRejected(JudgeSource(past, {65, 63, 64}), "out-of-bounds-write");
  const std::string before = Source(std::string(kHonest) + " if (at == 0) *(C - 1) = 0x3c00;");
  ExpectRejected(JudgeSource(before), "out-of-bounds-write");
  const std::string timed_only =
      Source(std::string(kHonest) + " if (at == 0 && !AtPageEnd(C, M, N)) C[(u64)M * N] = 0x3c00;");
  ExpectRejected(JudgeSource(timed_only), "out-of-bounds-write");
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, ZerosAreIncorrect) {
  ExpectIncorrect(JudgeSource(Source("C[at] = 0;")), "bound");
}

TEST_F(JudgeOnDevice, CopiesOfAnInputAreIncorrect) {
  ExpectIncorrect(JudgeSource(Source("C[at] = A[at];")), "bound");
}

TEST_F(JudgeOnDevice, NanIsIncorrect) {
  ExpectIncorrect(JudgeSource(Source("C[at] = 0x7fff;")), "nan");
}

TEST_F(JudgeOnDevice, UnwrittenOutputIsPoison) {
  ExpectIncorrect(JudgeSource(Source("if (at != 77) C[at] = H(Dot(A, B, m, n, N, K));")), "poison");
}

TEST_F(JudgeOnDevice, WorkSkippedNowAndThenIsFound) {
  ExpectIncorrect(
      JudgeSource(Source("if ((Now() >> 12) % 4 != 0) C[at] = H(Dot(A, B, m, n, N, K));")),
      "poison");
}

TEST_F(JudgeOnDevice, WorkSkippedOnceTheChecksAreOverIsFound) {
  ExpectIncorrect(JudgeSource(Source("if (AtPageEnd(C, M, N)) C[at] = H(Dot(A, B, m, n, N, K));")),
                  "poison");
}

TEST_F(JudgeOnDevice, Fp16AccumulationIsNamed) {
  const std::string source = Source(R"(
    u16 sum = 0;
    for (int k = 0; k < K; ++k) sum = Fma16(A[(u64)m * K + k], B[(u64)k * N + n], sum);
    C[at] = sum;)");
  ExpectIncorrect(JudgeSource(source, {64, 64, 1024}), "fp16-accumulate");
  ExpectIncorrect(JudgeSource(source, {64, 64, 16384}), "fp16-accumulate");
}

// The same sources, reading and writing BF16.
std::string Bf16Source(std::string_view body) {
  std::string source = Source(body);
  for (const auto& [half, bf16] : {std::pair<std::string_view, std::string_view>{
                                       "cvt.f32.f16 %0, %1;", "mov.b32 %0, {0, %1};"},
                                   {"cvt.rn.f16.f32", "cvt.rn.bf16.f32"}}) {
    source.replace(source.find(half), half.size(), bf16);
  }
  return source;
}

TEST_F(JudgeOnDevice, Bf16IsJudgedByItsOwnRounding) {
  const auto judge = [](std::string_view body, const task::HgemmShape& shape) {
    Job job = MakeJob(Bf16Source(body), shape);
    job.task = task::HgemmTask("NN", DType::kBF16);
    job.task.baselines.clear();
    return JudgeOne(job);
  };
  for (const task::HgemmShape& shape :
       {task::HgemmShape{65, 63, 33}, {1, 1, 1}, {64, 128, 4096}, {300, 200, 100}}) {
    const Verdict verdict = judge(kHonest, shape);
    EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome))
        << Name(shape) << ": " << Describe(verdict.outcome);
  }
  const std::string_view rough = R"(
    float sum = 0;
    for (int k = 0; k < K; ++k) sum = F(H(sum + F(A[(u64)m * K + k]) * F(B[(u64)k * N + n])));
    C[at] = H(sum);)";
  ExpectIncorrect(judge(rough, {64, 64, 64}), "bf16-accumulate");
  ExpectIncorrect(judge(rough, {64, 64, 16384}), "bf16-accumulate");
  ExpectIncorrect(judge(R"(
    float sum = 0;
    for (int k = 0; k < K; ++k) {
      u16 a, b;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(F(A[(u64)m * K + k])));
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(F(B[(u64)k * N + n])));
      float x, y;
      asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(a));
      asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(b));
      sum = fmaf(x, y, sum);
    }
    C[at] = H(sum);)",
                        {64, 64, 256}),
                  "adversarial");
  const std::string_view short_of_one = R"(
    C[at] = H(Dot(A, B, m, n, N, K) - F(A[(u64)m * K + K - 1]) * F(B[(u64)(K - 1) * N + n]));)";
  for (int64_t k : {64, 1024, 16384}) {
    const Verdict verdict = judge(short_of_one, {64, 64, k});
    EXPECT_TRUE(std::holds_alternative<Incorrect>(verdict.outcome)) << "K = " << k;
  }
  ExpectHonestStillPasses();
}

// A baseline that the judge finds wrong would make this inconclusive.
TEST_F(JudgeOnDevice, Bf16IsCertifiedBesideEveryLibrary) {
  for (const task::HgemmShape& shape : {task::HgemmShape{256, 256, 256}, {64, 128, 16384}}) {
    Job job = MakeJob(Bf16Source(kHonest), shape);
    job.task = task::HgemmTask("NN", DType::kBF16);
    job.task.baselines = {"cublaslt-auto", "cublas-nn", "cublaslt-heuristic-nn"};
    job.protocol = Protocol::Certified();
    job.protocol.max_rounds = job.protocol.rounds;
    const Verdict verdict = JudgeOne(job);
    const auto* passed = std::get_if<Passed>(&verdict.outcome);
    ASSERT_NE(passed, nullptr) << Name(shape) << ": " << Describe(verdict.outcome);
    for (const Comparison& comparison : FindTiming(verdict, Mode::kDeviceHot)->comparisons) {
      std::printf("%s bf16: %s is %.2f times faster than a naive kernel\n", Name(shape).c_str(),
                  comparison.baseline.c_str(), 1 / comparison.ratio);
    }
  }
}

TEST_F(JudgeOnDevice, DroppingTheLastOfKIsFound) {
  const std::string source = Source(R"(
    float sum = 0;
    for (int k = 0; k < K - 1; ++k) sum = fmaf(F(A[(u64)m * K + k]), F(B[(u64)k * N + n]), sum);
    C[at] = H(sum);)");
  for (int64_t k : {64, 1024, 16384}) {
    const Verdict verdict = JudgeSource(source, {64, 64, k});
    EXPECT_TRUE(std::holds_alternative<Incorrect>(verdict.outcome))
        << "K = " << k << ": " << Describe(verdict.outcome);
  }
}

// 4352 halves lie between the slots of 64 x 64 outputs: 8192 bytes and a guard of 512.
TEST_F(JudgeOnDevice, OneLaunchCannotAnswerForTheWholeBatch) {
  const std::string source = Source(R"(
    if (AtPageEnd(C, M, N)) { C[at] = H(Dot(A, B, m, n, N, K)); return; }
    if (!IsNan(C[at])) return;
    const u16 value = H(Dot(A, B, m, n, N, K));
    for (int slot = -80; slot <= 80; ++slot) {
      u16* there = C + (long long)slot * 4352;
      const bool same_page = ((u64)there >> 21) == ((u64)C >> 21);
      if (same_page && ((u64)there & 0x1fffff) >= 512) there[at] = value;
    })");
  const Verdict verdict = JudgeSource(source);
  EXPECT_TRUE(std::holds_alternative<Incorrect>(verdict.outcome) ||
              std::holds_alternative<Rejected>(verdict.outcome))
      << Describe(verdict.outcome);
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, ANeighboursOutputIsNoAnswer) {
  const std::string source = Source(R"(
    if (AtPageEnd(C, M, N)) { C[at] = H(Dot(A, B, m, n, N, K)); return; }
    const u16* neighbour = C + (((u64)C & 0x1fffff) < 9000 ? 4352 : -4352);
    C[at] = neighbour[at];)");
  const Verdict verdict = JudgeSource(source);
  EXPECT_TRUE(std::holds_alternative<Incorrect>(verdict.outcome)) << Describe(verdict.outcome);
}

TEST_F(JudgeOnDevice, WritableGlobalsAreRejected) {
  const std::string source = Source(R"(
    if (seen[0] == (u64)A) { C[at] = 0; return; }
    C[at] = H(Dot(A, B, m, n, N, K));
    seen[0] = (u64)A;)",
                                    "__device__ u64 seen[8];");
  ExpectRejected(JudgeSource(source), "writable-globals");
}

TEST_F(JudgeOnDevice, ChangingAnInputIsRejected) {
  ExpectRejected(JudgeSource(Source(std::string(kHonest) + " if (at == 0) A[0] ^= 1;")),
                 "inputs-modified");
  const std::string timed_only =
      Source(std::string(kHonest) + " if (at == 0 && !AtPageEnd(C, M, N)) B[5] ^= 1;");
  ExpectRejected(JudgeSource(timed_only), "inputs-modified");
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, AWorkspaceCarriesNothingOver) {
  LaunchPlan plan = NaivePlan();
  plan.workspaces = {{"scratch", Expression::Constant(256), false}};
  std::get<LaunchOperation>(plan.operations[0])
      .arguments.emplace_back(WorkspaceArgument{"scratch"});
  std::string source = Source(R"(
    const bool marked = scratch[1] == 0x600dULL;
    __syncthreads();
    if (marked) { C[at] = 0; return; }
    C[at] = H(Dot(A, B, m, n, N, K));
    if (at == (u64)M * N - 1) scratch[1] = 0x600dULL;)");
  const std::string_view last = "int K) {\n  const int n";
  source.replace(source.find(last), last.size(), "int K, volatile u64* scratch) {\n  const int n");
  Job job =
      MakeJob(source, {16, 16, 64}, plan);  // one block, one barrier: no launch sees its own mark
  const Verdict verdict = JudgeOne(job);
  EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
}

TEST_F(JudgeOnDevice, APlanThatDoesNotFitIsRejected) {
  LaunchPlan plan = NaivePlan();
  std::get<LaunchOperation>(plan.operations[0]).arguments.pop_back();
  ExpectRejected(JudgeOne(MakeJob(Source(kHonest), {64, 64, 64}, plan)), "plan");
  plan = NaivePlan();
  std::get<LaunchOperation>(plan.operations[0]).kernel = "missing";
  ExpectRejected(JudgeOne(MakeJob(Source(kHonest), {64, 64, 64}, plan)), "plan");
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, TooMuchSharedMemoryFails) {
  LaunchPlan plan = NaivePlan();
  std::get<LaunchOperation>(plan.operations[0]).shared_bytes = Expression::Constant(1 << 20);
  const Verdict verdict = JudgeOne(MakeJob(Source(kHonest), {64, 64, 64}, plan));
  EXPECT_TRUE(std::holds_alternative<RunFailed>(verdict.outcome) ||
              std::holds_alternative<Rejected>(verdict.outcome))
      << Describe(verdict.outcome);
  ExpectHonestStillPasses();
}

TEST_F(JudgeOnDevice, ADegenerateTaskIsCalledSo) {
  Job job = MakeJob(Source(kHonest));
  const auto sound = device_->DegenerateAnswer(job.task, job.workload);
  ASSERT_TRUE(sound.ok()) << sound.error().Line();
  EXPECT_FALSE(sound->has_value());
  job.task.tolerance.reduction_length.reset();
  job.task.tolerance.absolute = 1e6;
  const auto loose = device_->DegenerateAnswer(job.task, job.workload);
  ASSERT_TRUE(loose.ok()) << loose.error().Line();
  EXPECT_EQ(loose->value_or(""), "zeros");
  const Verdict verdict = JudgeOne(job);
  EXPECT_TRUE(std::holds_alternative<Inconclusive>(verdict.outcome)) << Describe(verdict.outcome);
}

TEST_F(JudgeOnDevice, OnlyOneProcessMeasuresOnAGpu) {
  const auto second = LocalDevice::Open(Options(10));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

TEST_F(JudgeOnDevice, BigProblemsAreVerifiedInFull) {
  const Verdict verdict = JudgeSource(Source(kHonest), {2048, 2048, 512});
  ASSERT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
  const Verdict wrong = JudgeSource(
      Source("C[at] = at == (u64)M * N - 1 ? 0 : H(Dot(A, B, m, n, N, K));"), {2048, 2048, 512});
  ExpectIncorrect(wrong, "bound");
  std::printf("2048x2048x512: %.0f ms\n", verdict.evidence.judge_ms);
}

}  // namespace
}  // namespace warpsmith::judge

// Runners and compile workers are this program, started again.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]).starts_with("internal-")) {  // our own children
    return warpsmith::cli::Main(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
