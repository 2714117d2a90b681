#include "judge/resolved_task.h"

#include <gtest/gtest.h>

namespace warpsmith::judge {
namespace {

Task Gemm(const char* layout = "NN") {
  const Expression m = Expression::Literal("M"), n = Expression::Literal("N"),
                   k = Expression::Literal("K");
  Task task;
  task.name = "gemm";
  const bool transposed = std::string_view(layout) == "TN";
  task.tensors = {{"A", DType::kF16, Role::kInput, {m, k}, Generator::kNormal},
                  {"B", DType::kF16, Role::kInput,
                   transposed ? std::vector{n, k} : std::vector{k, n}, Generator::kNormal},
                  {"C", DType::kF16, Role::kOutput, {m, n}, Generator::kNormal}};
  task.reference = {"gemm", {{"layout", layout}}};
  task.tolerance.reduction_length = k;
  task.flops = Expression::Literal("2 * M * N * K");
  return task;
}

Workload Shape(int64_t m, int64_t n, int64_t k) {
  return {"shape", {{"M", m}, {"N", n}, {"K", k}}, 1, false};
}

DeviceInfo H200() {
  DeviceInfo info;
  const PartRates rates = RatesOf("NVIDIA H200");
  info.l2_bytes = int64_t{60} << 20;
  info.tensor_f16_flops = rates.tensor_f16_flops;
  info.hbm_bytes_per_s = rates.hbm_bytes_per_s;
  info.l2_bytes_per_s = rates.l2_bytes_per_s;
  return info;
}

TEST(RatesOf, KnowsThePartsApart) {
  EXPECT_EQ(RatesOf("NVIDIA H200").hbm_bytes_per_s, 4.8e12);
  EXPECT_EQ(RatesOf("NVIDIA H100 80GB HBM3").hbm_bytes_per_s, 3.36e12);
  EXPECT_EQ(RatesOf("NVIDIA H100 PCIe").tensor_f16_flops, 756e12);
  EXPECT_EQ(RatesOf("Some Future GPU").tensor_f16_flops, 0);
}

TEST(RooflineUs, BigSquaresAreBoundByTheTensorCores) {
  const auto floor = RooflineUs(H200(), Gemm(), Shape(8192, 8192, 8192), Mode::kDeviceHot);
  ASSERT_TRUE(floor.ok());
  EXPECT_NEAR(*floor, 2.0 * 8192 * 8192 * 8192 / 989e12 * 1e6, 0.1);
}

TEST(RooflineUs, ColdIsBoundByMemoryHotByTheL2) {
  const Workload shape = Shape(64, 4096, 4096);
  const double bytes = 2.0 * (64 * 4096 + 4096 * 4096 + 64 * 4096);
  const auto cold = RooflineUs(H200(), Gemm(), shape, Mode::kDeviceCold);
  const auto hot = RooflineUs(H200(), Gemm(), shape, Mode::kDeviceHot);
  ASSERT_TRUE(cold.ok() && hot.ok());
  EXPECT_NEAR(*cold, bytes / 4.8e12 * 1e6, 0.01);
  EXPECT_NEAR(*hot, bytes / 10e12 * 1e6, 0.01);
}

TEST(ResolveTask, ReadsShapesInBothLayouts) {
  for (const char* layout : {"NN", "TN"}) {
    const auto problem = ResolveTask(Gemm(layout), Shape(64, 128, 256));
    ASSERT_TRUE(problem.ok()) << problem.error().message;
    ASSERT_TRUE(problem->gemm.has_value());
    EXPECT_EQ(problem->gemm->m, 64);
    EXPECT_EQ(problem->gemm->n, 128);
    EXPECT_EQ(problem->gemm->k, 256);
    EXPECT_EQ(problem->gemm->transposed, std::string_view(layout) == "TN");
    EXPECT_EQ(problem->outputs[0].bytes, 2 * 64 * 128);
  }
}

TEST(ResolveTask, SaysWhatItCannotJudge) {
  Task task = Gemm();
  task.tensors[1].shape = {Expression::Literal("K"), Expression::Literal("K")};
  EXPECT_FALSE(ResolveTask(task, Shape(64, 128, 256)).ok());
  task = Gemm();
  task.tensors[0].dtype = DType::kF32;
  EXPECT_FALSE(ResolveTask(task, Shape(64, 128, 256)).ok());
  task = Gemm();
  task.reference.kind = "oracle of Delphi";
  EXPECT_FALSE(ResolveTask(task, Shape(64, 128, 256)).ok());
  task = Gemm();
  task.tensors.pop_back();
  const auto missing = ResolveTask(task, Shape(64, 128, 256));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace warpsmith::judge
