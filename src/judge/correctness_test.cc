#include "judge/correctness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace warpsmith::judge {
namespace {

OutputReport Wrong(double error) {
  OutputReport report;
  report.wrong = 1;
  report.worst_error = error;
  report.worst_bound = error / 2;
  report.worst_element = 3;
  return report;
}

TEST(CoefficientsOf, DerivesTheHalfPrecisionBound) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  const auto bound =
      CoefficientsOf(tolerance, DType::kF16, {{"K", 4096}}, MagnitudeKind::kSumOfProducts);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->relative, std::ldexp(1.0, -11));
  EXPECT_EQ(bound->absolute, std::ldexp(1.0, -25));
  EXPECT_DOUBLE_EQ(bound->magnitude, 2.0 * (256 + 8) * std::ldexp(1.0, -23));
}

TEST(CoefficientsOf, TakesAGivenBound) {
  Tolerance tolerance;
  tolerance.absolute = 1e-2;
  tolerance.relative = 1e-3;
  const auto bound = CoefficientsOf(tolerance, DType::kF16, {}, MagnitudeKind::kSumOfProducts);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->absolute, 1e-2);
  EXPECT_EQ(bound->relative, 1e-3);
  EXPECT_EQ(bound->magnitude, 0);
}

TEST(CoefficientsOf, RefusesOutputsWithoutABound) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  EXPECT_FALSE(
      CoefficientsOf(tolerance, DType::kI8, {{"K", 64}}, MagnitudeKind::kSumOfProducts).ok());
}

TEST(CoefficientsOf, Fp16AccumulationIsOutsideTheBoundOfItsDetector) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  for (int64_t k = kFp16DetectorMinimumK; k <= 16384; k *= 2) {
    const auto bound =
        CoefficientsOf(tolerance, DType::kF16, {{"K", k}}, MagnitudeKind::kSumOfProducts);
    ASSERT_TRUE(bound.ok());
    const double truth = 2048.0 + static_cast<double>(k) / 16 - 1;  // an FP16 sum stays at 2048
    const double allowed = bound->relative * truth + bound->absolute + bound->magnitude * truth;
    EXPECT_GT(truth - 2048.0, allowed) << "K = " << k;
  }
}

TEST(CoefficientsOf, LetsFp32SumsThroughAndTf32Not) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("L");
  for (int64_t length : {64, 1024, 65536}) {
    const auto bound =
        CoefficientsOf(tolerance, DType::kF32, {{"L", length}}, MagnitudeKind::kLargestValue);
    ASSERT_TRUE(bound.ok());
    // Of sums of `length` normal products, the largest is about 5 sigma; a sum in FP32 is off by
    // about sqrt(length) units of a partial sum at random, products rounded to TF32 by 2^-11 sigma.
    const double sigma = std::sqrt(static_cast<double>(length)), largest = 5 * sigma;
    const double fp32_error = 0.3 * std::sqrt(static_cast<double>(length)) * 1.2e-7 * sigma;
    EXPECT_LT(5 * fp32_error, bound->magnitude * largest + bound->relative * sigma);
    if (length > 16'384) continue;
    EXPECT_GT(4 * std::ldexp(sigma, -12), bound->magnitude * largest + bound->relative * sigma);
  }
}

TEST(CoefficientsOf, WantsWholeNumbersEqual) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("L");
  const auto bound =
      CoefficientsOf(tolerance, DType::kI32, {{"L", 64}}, MagnitudeKind::kLargestValue);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->relative + bound->absolute + bound->magnitude, 0);
}

TEST(Diagnose, NamesPoisonBeforeNanBeforeValues) {
  OutputReport report = Wrong(1);
  EXPECT_EQ(Diagnose(report, "bound", "x")->detector, "bound");
  report.nan = 2;
  EXPECT_EQ(Diagnose(report, "bound", "x")->detector, "nan");
  report.poison = 1;
  EXPECT_EQ(Diagnose(report, "bound", "x")->detector, "poison");
  EXPECT_FALSE(Diagnose(OutputReport{}, "bound", "x").has_value());
}

TEST(DiagnoseChecks, CallsLostPrecisionByItsName) {
  const std::vector<CheckReport> checks = {{CheckInput::kNormal, Wrong(0.1)},
                                           {CheckInput::kZeroOne, {}},
                                           {CheckInput::kFp16Accumulate, Wrong(3)},
                                           {CheckInput::kAdversarial, Wrong(0.1)}};
  EXPECT_EQ(DiagnoseChecks(checks)->detector, "fp16-accumulate");
}

TEST(DiagnoseChecks, OtherwiseTakesTheFirstThatFailed) {
  EXPECT_EQ(DiagnoseChecks({{CheckInput::kNormal, Wrong(9)},
                            {CheckInput::kZeroOne, Wrong(2)},
                            {CheckInput::kFp16Accumulate, Wrong(2)}})
                ->detector,
            "bound");
  EXPECT_EQ(
      DiagnoseChecks({{CheckInput::kNormal, {}}, {CheckInput::kAdversarial, Wrong(2)}})->detector,
      "adversarial");
  EXPECT_FALSE(DiagnoseChecks({{CheckInput::kNormal, {}}}).has_value());
}

}  // namespace
}  // namespace warpsmith::judge
