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

TEST(CoefficientsOf, RefusesBoundsThatLetEverythingOrNothingPass) {
  for (const double bad : {-1.0, HUGE_VAL, std::nan("")}) {
    Tolerance tolerance;
    tolerance.absolute = bad;
    EXPECT_FALSE(CoefficientsOf(tolerance, DType::kF32, {}, MagnitudeKind::kLargestValue).ok());
    tolerance = {};
    tolerance.relative = bad;
    EXPECT_FALSE(CoefficientsOf(tolerance, DType::kF32, {}, MagnitudeKind::kLargestValue).ok());
  }
}

TEST(CoefficientsOf, RefusesOutputsWithoutABound) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  EXPECT_FALSE(
      CoefficientsOf(tolerance, DType::kI8, {{"K", 64}}, MagnitudeKind::kSumOfProducts).ok());
}

TEST(CoefficientsOf, DerivesTheBoundOfBf16FromItsOwnRounding) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  const auto bound =
      CoefficientsOf(tolerance, DType::kBF16, {{"K", 4096}}, MagnitudeKind::kSumOfProducts);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->relative, std::ldexp(1.0, -8));
  EXPECT_EQ(bound->absolute, std::ldexp(1.0, -134));
  EXPECT_DOUBLE_EQ(bound->magnitude, 2.0 * (256 + 8) * std::ldexp(1.0, -23));
}

TEST(RareErrorsCaughtBy, IsOneMinusTheChanceThatAllWereRight) {
  const std::vector<RareError> errors = RareErrorsCaughtBy(10'000);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_NEAR(errors[0].caught, 0.99995, 1e-5);
  EXPECT_EQ(errors[1].once_in, 10'000);
  EXPECT_NEAR(errors[1].caught, 1 - std::exp(-1), 1e-4);
  EXPECT_NEAR(errors[2].caught, 0.0952, 1e-4);
  EXPECT_EQ(RareErrorsCaughtBy(0)[0].caught, 0);
}

struct SumsCase {
  CheckInput input;
  DType output;
  double stays_at;
};

// From where TellsSums says so, a sum that stays where it began is beyond the bound, and below that
// within it: the detector is asked wherever it can tell something.
TEST(TellsSums, IsWhereASumThatStaysIsBeyondTheBound) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Literal("K");
  for (const SumsCase& c : {SumsCase{CheckInput::kFp16Accumulate, DType::kF16, 2048},
                            SumsCase{CheckInput::kFp16Accumulate, DType::kBF16, 2048},
                            SumsCase{CheckInput::kBf16Accumulate, DType::kBF16, 256}}) {
    for (int64_t k = 16; k <= int64_t{1} << 24; k *= 2) {
      const auto bound =
          CoefficientsOf(tolerance, c.output, {{"K", k}}, MagnitudeKind::kSumOfProducts);
      ASSERT_TRUE(bound.ok());
      const double truth = c.stays_at + static_cast<double>(k) / 16 - 1;
      const double allowed = bound->relative * truth + bound->absolute + bound->magnitude * truth;
      EXPECT_EQ(TellsSums(c.input, c.output, k), truth - c.stays_at > allowed)
          << Name(c.output) << " " << DetectorName(c.input) << ", K = " << k;
    }
  }
  EXPECT_FALSE(TellsSums(CheckInput::kBf16Accumulate, DType::kF16, 1024));
}

TEST(LargestExactInteger, IsTheLastBeforeAGap) {
  EXPECT_EQ(LargestExactInteger(DType::kF16), 2048);
  EXPECT_EQ(LargestExactInteger(DType::kBF16), 256);
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

// A BF16 sum stays below 2048 too; an FP16 sum reaches 256 and goes on.
TEST(DiagnoseChecks, TellsBf16SumsFromFp16Sums) {
  std::vector<CheckReport> checks = {{CheckInput::kNormal, Wrong(9)},
                                     {CheckInput::kZeroOne, {}},
                                     {CheckInput::kBf16Accumulate, Wrong(3)},
                                     {CheckInput::kFp16Accumulate, Wrong(30)}};
  EXPECT_EQ(DiagnoseChecks(checks)->detector, "bf16-accumulate");
  checks[2].output = {};
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
