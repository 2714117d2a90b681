// The judge on a real GPU: honest candidates pass, each cheat gets its verdict, and the next job is
// unharmed. Sources are compiled here, by NVRTC.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "busy_gpu.h"
#include "commands.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/statistics.h"
#include "judge_on_device.h"

namespace warpsmith::judge {
namespace {

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
  EXPECT_FALSE(timing->below_roofline);
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

// At this size the choice of one set of operands, replayed, lost to cuBLAS's default.
TEST_F(JudgeOnDevice, TheBarIsChosenInEachModeAndBeatenByNoOtherWay) {
  Job job = MakeJob(Source(kHonest), {512, 2048, 4096});
  job.task.baselines = baseline::GemmBaselineNames();
  const auto primary =
      std::find(job.task.baselines.begin(), job.task.baselines.end(), "cublaslt-auto");
  std::rotate(job.task.baselines.begin(), primary, primary + 1);
  job.protocol.modes = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer};
  job.protocol.rounds = job.protocol.max_rounds = 7;
  job.protocol.every_baseline = true;
  const auto choices =
      device_->Choose(job.task, job.workload, {"cublaslt-auto", job.protocol.modes});
  ASSERT_TRUE(choices.ok()) << choices.error().Line();
  for (const auto& [mode, choice] : *choices) {
    EXPECT_GT(choice.tried, 4);
    std::printf("bar %-12s %8.3f us of %d: %s\n", std::string(Name(mode)).c_str(), choice.median_us,
                choice.tried, baseline::CallOf(choice).c_str());
  }
  const Verdict verdict = JudgeOne(job);
  ASSERT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
  for (const Mode mode : job.protocol.modes) {
    const ModeTiming& timing = *FindTiming(verdict, mode);
    for (const ContenderTiming& other : timing.baselines) {
      const Comparison beside = Compare(timing.baselines.front(), other, 0.99, 0.01);
      EXPECT_LT(beside.interval.lo, 1.05) << other.name << " in mode " << Name(mode);
    }
  }
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
  if (argc == 3 && argv[1] == warpsmith::judge::kBusyGpu) {
    return warpsmith::judge::BusyGpuMain(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
