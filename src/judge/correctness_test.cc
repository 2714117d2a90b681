#include "judge/correctness.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.h"

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

// From where ExposesNarrowSums says so, a sum that stays where it began is beyond the bound, and below that
// within it: the detector is asked wherever it can tell something.
TEST(ExposesNarrowSums, IsWhereASumThatStaysIsBeyondTheBound) {
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
      EXPECT_EQ(ExposesNarrowSums(c.input, c.output, k), truth - c.stays_at > allowed)
          << Name(c.output) << " " << DetectorName(c.input) << ", K = " << k;
    }
  }
  EXPECT_FALSE(ExposesNarrowSums(CheckInput::kBf16Accumulate, DType::kF16, 1024));
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

constexpr Rounding kHalf = {11, -14};
constexpr Rounding kBrain = {8, -126};

// To `digits` significant bits: nearest, ties to even; towards zero; down.
double Nearest(double x, int digits) {
  if (x == 0) return 0;
  const int shift = digits - 1 - std::ilogb(x);
  return std::ldexp(std::nearbyint(std::ldexp(x, shift)), -shift);
}
double TowardsZero(double x, int digits) {
  if (x == 0) return 0;
  const int shift = digits - 1 - std::ilogb(x);
  return std::ldexp(std::trunc(std::ldexp(x, shift)), -shift);
}
double Down(double x, int digits) {
  if (x == 0) return 0;
  const int shift = digits - 1 - std::ilogb(x);
  return std::ldexp(std::floor(std::ldexp(x, shift)), -shift);
}

// Tensor cores: `block` exact products are added to the sum, which is then cut off to FP32.
double CutSum(const std::vector<double>& terms, size_t block) {
  double sum = 0;
  for (size_t k = 0; k < terms.size(); k += block) {
    double exact = sum;
    for (size_t i = k; i < std::min(k + block, terms.size()); ++i) exact += terms[i];
    sum = TowardsZero(exact, 24);
  }
  return sum;
}
double FloatSum(const std::vector<double>& terms, size_t stride) {
  float sum = 0;
  for (size_t first = 0; first < stride; ++first) {
    float part = 0;
    for (size_t k = first; k < terms.size(); k += stride) part += static_cast<float>(terms[k]);
    sum += part;
  }
  return sum;
}

using Kernel = std::function<double(const std::vector<double>&)>;

// What each kernel does with `elements` random rows and columns of 16-bit numbers.
std::vector<BiasSums> Outputs(uint64_t seed, int64_t k, int elements, const Rounding& rounding,
                              bool positive, const std::vector<Kernel>& kernels) {
  Random random(seed, "bias");
  std::vector<BiasSums> sums(kernels.size());
  std::vector<double> terms(static_cast<size_t>(k));
  const auto draw = [&] {
    return Nearest(positive ? random.Uniform() : 2 * random.Uniform() - 1, rounding.significand);
  };
  for (int i = 0; i < elements; ++i) {
    double reference = 0;
    for (double& term : terms) {
      term = draw() * draw();
      reference += term;
    }
    for (size_t at = 0; at < kernels.size(); ++at) {
      sums[at].Add(kernels[at](terms), reference, rounding);
    }
  }
  return sums;
}

double Allowed(int64_t k, const Rounding& rounding) {
  Tolerance tolerance;
  tolerance.reduction_length = Expression::Constant(k);
  return AllowedBias(tolerance, rounding, {}).value();
}

TEST(Bias, HonestSumsInAnyOrderAreNotRefused) {
  const std::vector<Kernel> honest = {
      [](const auto& terms) { return Nearest(FloatSum(terms, 1), 11); },
      [](const auto& terms) { return Nearest(FloatSum(terms, 32), 11); },  // split and added
      [](const auto& terms) { return Nearest(CutSum(terms, 8), 11); },     // Ampere's
      [](const auto& terms) { return Nearest(CutSum(terms, 16), 11); },    // Hopper's
  };
  for (const int64_t k : {16, 100, 1024, 4096}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      for (const BiasSums& sums : Outputs(seed, k, 300, kHalf, seed % 3 == 2, honest)) {
        const auto refused = DiagnoseBias(sums, Allowed(k, kHalf));
        EXPECT_FALSE(refused.has_value()) << "K " << k << ": " << refused->detail;
      }
    }
  }
}

// However few they are: the spread of one element is 0.
TEST(Bias, AFewHonestOutputsAreNotRefused) {
  const Kernel honest = [](const auto& terms) { return Nearest(FloatSum(terms, 1), 11); };
  for (const int elements : {1, 2, 3, 8}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const BiasSums sums = Outputs(seed, 1, elements, kHalf, false, {honest}).front();
      const auto refused = DiagnoseBias(sums, Allowed(1, kHalf));
      EXPECT_FALSE(refused.has_value()) << elements << ": " << refused->detail;
    }
  }
}

// What is allowed is more than what tensor cores lose.
TEST(Bias, TensorCoresLoseLessThanIsAllowed) {
  const Kernel ampere = [](const auto& terms) { return Nearest(CutSum(terms, 8), 11); };
  for (const bool positive : {false, true}) {
    const BiasSums sums = Outputs(7, 4096, 4'000, kHalf, positive, {ampere}).front();
    const Bias bias = *BiasOf(sums, Allowed(4096, kHalf));
    EXPECT_LT(bias.magnitude.value, 0) << "they cut off";
    EXPECT_GT(bias.magnitude.value, -0.75 * bias.allowed);
  }
}

TEST(Bias, OutputsCutOffAreRefused) {
  const Kernel cut = [](const auto& terms) { return TowardsZero(FloatSum(terms, 1), 11); };
  for (const int64_t k : {1024, 4096}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      const BiasSums sums = Outputs(seed, k, 300, kHalf, false, {cut}).front();
      const auto refused = DiagnoseBias(sums, Allowed(k, kHalf));
      ASSERT_TRUE(refused.has_value());
      EXPECT_EQ(refused->detector, "bias");
      EXPECT_NE(refused->detail.find("too near zero"), std::string::npos) << refused->detail;
      EXPECT_NEAR(refused->error, 1, 0.2);
    }
  }
}

TEST(Bias, OutputsRoundedDownAreRefused) {
  const Kernel down = [](const auto& terms) { return Down(FloatSum(terms, 1), 8); };
  const BiasSums sums = Outputs(3, 1024, 300, kBrain, false, {down}).front();
  const auto refused = DiagnoseBias(sums, Allowed(1024, kBrain));
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->detail.find("too low"), std::string::npos) << refused->detail;
}

// Each FP32 addition cut off, where honest ones are rounded. The longer the sum, the fewer outputs
// are enough; a matrix has many more than these.
TEST(Bias, SumsCutOffAtEachTermAreRefused) {
  const Kernel cut = [](const auto& terms) { return Nearest(CutSum(terms, 1), 11); };
  for (const auto& [k, elements] : {std::pair{4096, 3'000}, std::pair{8192, 1'500}}) {
    const BiasSums sums = Outputs(11, k, elements, kHalf, false, {cut}).front();
    EXPECT_TRUE(DiagnoseBias(sums, Allowed(k, kHalf)).has_value()) << "K " << k;
  }
}

TEST(Bias, WhatIsAllowedGrowsWithTheSum) {
  EXPECT_DOUBLE_EQ(Allowed(4096, kHalf), 0.02 + (512 + 8) * std::ldexp(1.0, -13));
  EXPECT_DOUBLE_EQ(Allowed(4096, kBrain), 0.02 + (512 + 8) * std::ldexp(1.0, -16));
  EXPECT_LT(Allowed(16'384, kHalf), 0.3);
  EXPECT_GT(Allowed(65'536, kHalf), 1) << "no output cut off is told from such a sum";
}

TEST(Bias, IsNotAskedForWhereNobodyKnows) {
  EXPECT_EQ(LastPlaceOf(DType::kF32, DType::kF64).significand, 0);
  EXPECT_EQ(LastPlaceOf(DType::kF16, DType::kF16).significand, 0);
  EXPECT_EQ(LastPlaceOf(DType::kF16, DType::kF64).significand, 11);
  Tolerance given;
  given.absolute = 0.1;
  EXPECT_EQ(AllowedBias(given, kHalf, {}).value(), 0);
  BiasSums sums;
  EXPECT_FALSE(BiasOf(sums, 0.1).has_value());
  EXPECT_FALSE(DiagnoseBias(sums, 0.1).has_value());
  for (int i = 0; i < 1000; ++i) sums.Add(1, 1.001, kHalf);
  EXPECT_FALSE(DiagnoseBias(sums, 0).has_value());
  EXPECT_TRUE(DiagnoseBias(sums, 0.1).has_value());
}

// Infinities, NaN, subnormals and zeros: no element counts for more than 4, nor as NaN.
RC_GTEST_PROP(Bias, AnyNumbersGiveFiniteSums, (double output, double reference)) {
  BiasSums sums;
  for (const double value : {output, 0.0, HUGE_VAL, std::nan(""), 5e-324, -output}) {
    sums.Add(value, reference, kHalf);
    sums.Add(reference, value, kBrain);
  }
  RC_ASSERT(std::fabs(sums.magnitude) <= 48.0);
  RC_ASSERT(std::isfinite(sums.square));
}

}  // namespace

}  // namespace warpsmith::judge
