// BF16 products on a real GPU.
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>

#include "judge_on_device.h"

namespace warpsmith::judge {
namespace {

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

}  // namespace
}  // namespace warpsmith::judge
