#include "judge/bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::judge {
namespace {

constexpr double kMostHalves = 4;          // an element's share
constexpr double kReportedErrors = 2.576;  // 99 % of a normal distribution
constexpr double kRefusedErrors = 6;

// At least that of honest rounding, whose errors lie evenly between -1 and 1 halves of a last place:
// of a few elements the spread says nothing, and of one it is 0.
double StandardError(double sum, const BiasSums& sums) {
  constexpr double kHonestVariance = 1.0 / 3;
  const auto count = static_cast<double>(sums.elements);
  const double mean = sum / count;
  return std::sqrt(std::max(kHonestVariance, sums.square / count - mean * mean) / count);
}

SignedMean MeanOf(double sum, const BiasSums& sums) {
  const double mean = sum / static_cast<double>(sums.elements);
  const double half = kReportedErrors * StandardError(sum, sums);
  return {mean, {mean - half, mean + half}};
}

}  // namespace

Rounding LastPlaceOf(DType output, DType expected) {
  const bool finer = expected == DType::kF64 || expected == DType::kF32;
  if (finer && output == DType::kF16) return {11, -14};
  if (finer && output == DType::kBF16) return {8, -126};
  return {};
}

void BiasSums::Add(double output, double reference, const Rounding& rounding) {
  const bool counts = rounding.significand != 0 && reference != 0 && std::isfinite(output) &&
                      std::isfinite(reference);
  if (!counts) return;
  const int exponent = std::max(std::ilogb(reference), rounding.least_exponent);
  const double off = std::clamp(std::ldexp(output - reference, rounding.significand - exponent),
                                -kMostHalves, kMostHalves);
  ++elements;
  magnitude += reference > 0 ? off : -off;
  value += off;
  square += off * off;
}

void BiasSums::Add(const BiasSums& other) {
  elements += other.elements;
  magnitude += other.magnitude;
  value += other.value;
  square += other.square;
}

Result<double> AllowedBias(const Tolerance& tolerance, const Rounding& rounding,
                           const Sizes& sizes) {
  if (!tolerance.reduction_length || rounding.significand == 0) return 0.0;
  constexpr double kFloor = 0.02;
  constexpr double kTermsOfAStep = 8, kOtherSteps = 8;
  const auto length = static_cast<double>(TRY(tolerance.reduction_length->Evaluate(sizes)));
  const double steps = std::ceil(length / kTermsOfAStep) + kOtherSteps;
  const bool in_f64 = tolerance.accumulate == DType::kF64;
  const int digits = tolerance.accumulate == DType::kF16 ? 11 : in_f64 ? 53 : 24;
  // A unit of the sum's type is at most 2^(1 - digits) of the sum; half of it is lost, and half of
  // that counts. A sum is at most 2^(significand + 1) halves of the output's last place. By
  // simulation, sums cut off at each 8 terms come to half of this, and at each 16 (Hopper) to a
  // third.
  return kFloor + steps * std::ldexp(0.25, 2 - digits + rounding.significand);
}

std::optional<Bias> BiasOf(const BiasSums& sums, double allowed) {
  if (sums.elements == 0) return std::nullopt;
  return Bias{sums.elements, MeanOf(sums.magnitude, sums), MeanOf(sums.value, sums), allowed};
}

std::optional<Incorrect> DiagnoseBias(const BiasSums& sums, double allowed) {
  if (sums.elements == 0 || allowed <= 0) return std::nullopt;
  struct Side {
    double sum;
    std::string_view below, above;
  };
  for (const Side& side : {Side{sums.magnitude, "too near zero", "too far from zero"},
                           Side{sums.value, "too low", "too high"}}) {
    const double mean = side.sum / static_cast<double>(sums.elements);
    const double error = StandardError(side.sum, sums);
    if (std::fabs(mean) - kRefusedErrors * error <= allowed) continue;
    Incorrect incorrect;
    incorrect.detector = "bias";
    incorrect.detail = fmt::format(
        "outputs are {} by {:.3f} +- {:.3f} halves of a last place on average, over {} elements; "
        "rounding to nearest gives 0, and {:.3f} is allowed",
        mean < 0 ? side.below : side.above, std::fabs(mean), kReportedErrors * error, sums.elements,
        allowed);
    incorrect.error = std::fabs(mean);
    incorrect.bound = allowed;
    return incorrect;
  }
  return std::nullopt;
}

}  // namespace warpsmith::judge
