#include "judge/correctness.h"

#include <fmt/core.h>

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

Estimate MeanOf(double sum, const BiasSums& sums) {
  const double mean = sum / static_cast<double>(sums.elements);
  const double half = kReportedErrors * StandardError(sum, sums);
  return {mean, {mean - half, mean + half}};
}

// Half a unit in the last place, relative, and half the smallest subnormal.
struct OutputRounding {
  double relative, absolute;
};

Result<OutputRounding> RoundingOf(DType output) {
  switch (output) {
    case DType::kF16:
      return OutputRounding{std::ldexp(1.0, -11), std::ldexp(1.0, -25)};
    case DType::kBF16:
      return OutputRounding{std::ldexp(1.0, -8), std::ldexp(1.0, -134)};
    case DType::kF32:
      return OutputRounding{std::ldexp(1.0, -24), std::ldexp(1.0, -150)};
    case DType::kF64:
      return OutputRounding{std::ldexp(1.0, -53), 0};
    default:
      return Error{ErrorCode::kBadInput,
                   fmt::format("no error bound is derived for outputs of type {}", Name(output)),
                   "give the tolerance absolute and relative bounds instead"};
  }
}

bool IsWhole(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kI32 || dtype == DType::kI64 ||
         dtype == DType::kBool;
}

Result<double> AccumulationUnit(DType accumulate) {
  switch (accumulate) {
    case DType::kF64:
      return std::ldexp(1.0, -52);
    case DType::kF32:
      return std::ldexp(1.0, -23);
    case DType::kF16:
      return std::ldexp(1.0, -10);
    default:
      return Error{ErrorCode::kBadInput,
                   fmt::format("tolerance.accumulate: no bound for {} sums", Name(accumulate)),
                   "use f32 or f16"};
  }
}

const CheckReport* FindCheck(const std::vector<CheckReport>& checks, CheckInput input) {
  for (const CheckReport& check : checks) {
    if (check.input == input) return &check;
  }
  return nullptr;
}

bool Failed(const std::vector<CheckReport>& checks, CheckInput input) {
  const CheckReport* check = FindCheck(checks, input);
  return check != nullptr && check->output.wrong > 0;
}

std::string Where(CheckInput input) { return fmt::format("check input '{}'", DetectorName(input)); }

}  // namespace

std::optional<Incorrect> CorrectnessBook::EnterChecks(const std::vector<CheckReport>& reports) {
  if (auto incorrect = DiagnoseChecks(reports)) return incorrect;
  for (const CheckReport& report : reports) {
    if (report.input == CheckInput::kNormal) {  // drawn as the timed inputs are
      correctness_.max_deviation.push_back(report.output.max_deviation);
      bias_.Add(report.output.bias);
    }
    correctness_.worst_bound_fraction =
        std::max(correctness_.worst_bound_fraction, report.output.worst_fraction);
    ++correctness_.outputs_verified;
  }
  return DiagnoseBias(bias_, allowed_bias_);
}

std::optional<Incorrect> CorrectnessBook::Enter(const OutputReport& report, int combination,
                                                std::string_view where) {
  const auto known = hashes_.find(combination);
  const bool was_right = known != hashes_.end();
  if (auto wrong = Diagnose(report, was_right ? "nondeterministic-wrong" : "bound", where)) {
    return wrong;
  }
  // Only right answers get this far, so two of them may differ within the bound alone.
  if (was_right && known->second != report.content_hash) correctness_.deterministic = false;
  // Each content counts once. The same errors, counted again and again, would make the mean look
  // surer than it is.
  if (!was_right) bias_.Add(report.bias);
  hashes_[combination] = report.content_hash;
  correctness_.worst_bound_fraction =
      std::max(correctness_.worst_bound_fraction, report.worst_fraction);
  round_deviation_ = std::max(round_deviation_, report.max_deviation);
  ++correctness_.outputs_verified;
  return std::nullopt;
}

bool CorrectnessBook::IsAnswerToAnother(uint64_t content_hash, int combination) const {
  return std::any_of(hashes_.begin(), hashes_.end(), [&](const auto& entry) {
    return entry.first != combination && entry.second == content_hash;
  });
}

std::optional<Incorrect> CorrectnessBook::EndRound() {
  correctness_.max_deviation.push_back(round_deviation_);
  return DiagnoseBias(bias_, allowed_bias_);
}

Correctness CorrectnessBook::Finish(Level level) const {
  Correctness correctness = correctness_;
  correctness.bias = BiasOf(bias_, allowed_bias_);
  if (level == Level::kCertified) {
    correctness.rare_errors = RareErrorsCaughtBy(correctness.outputs_verified);
  }
  return correctness;
}

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

Result<BoundCoefficients> CoefficientsOf(const Tolerance& tolerance, DType output,
                                         const Sizes& sizes, MagnitudeKind kind) {
  if (!tolerance.reduction_length) {
    for (const double bound : {tolerance.relative, tolerance.absolute}) {
      if (std::isfinite(bound) && bound >= 0) continue;
      return Error{ErrorCode::kBadInput, "tolerance: a bound that is no finite number of 0 or more",
                   "nothing, or everything, would pass: give the error that is right"};
    }
    return BoundCoefficients{tolerance.relative, tolerance.absolute, 0};
  }
  if (IsWhole(output) && kind == MagnitudeKind::kLargestValue) return BoundCoefficients{};
  const auto length = static_cast<double>(TRY(tolerance.reduction_length->Evaluate(sizes)));
  const OutputRounding rounding = TRY(RoundingOf(output));
  const double unit = TRY(AccumulationUnit(tolerance.accumulate));
  constexpr double kSlack = 2;  // rounding instead of truncation, split sums, conversions
  const double steps = kind == MagnitudeKind::kSumOfProducts
                           ? kSlack * (std::ceil(length / 16) + 8)
                           : kSlack * std::sqrt(std::max(length, 1.0)) + 8;
  return BoundCoefficients{rounding.relative, rounding.absolute, steps * unit};
}

std::string_view DetectorName(CheckInput input) {
  switch (input) {
    case CheckInput::kNormal:
      return "bound";
    case CheckInput::kZeroOne:
      return "zero-one";
    case CheckInput::kBf16Accumulate:
      return "bf16-accumulate";
    case CheckInput::kFp16Accumulate:
      return "fp16-accumulate";
    case CheckInput::kAdversarial:
      return "adversarial";
  }
  return "bound";
}

int64_t LargestExactInteger(DType half) { return half == DType::kBF16 ? 256 : 2048; }

bool ExposesNarrowSums(CheckInput input, DType output, int64_t k) {
  const bool is_bf16 = output == DType::kBF16;
  if (input == CheckInput::kBf16Accumulate) return is_bf16 && k >= 64;
  return k >= (is_bf16 ? 192 : 64);
}

std::optional<Incorrect> Diagnose(const OutputReport& report, std::string_view detector,
                                  std::string_view where) {
  if (report.wrong == 0) return std::nullopt;
  Incorrect incorrect;
  incorrect.error = report.worst_error;
  incorrect.bound = report.worst_bound;
  incorrect.element = report.worst_element;
  if (report.poison > 0) {
    incorrect.detector = "poison";
    incorrect.detail = fmt::format("{}: {} elements were not written", where, report.poison);
  } else if (report.nan > 0) {
    incorrect.detector = "nan";
    incorrect.detail = fmt::format("{}: {} elements are NaN or infinite", where, report.nan);
  } else {
    incorrect.detector = detector;
    incorrect.detail =
        fmt::format("{}: {} elements are off; element {} by {:.4g}, allowed {:.4g}", where,
                    report.wrong, report.worst_element, report.worst_error, report.worst_bound);
  }
  return incorrect;
}

std::vector<RareError> RareErrorsCaughtBy(int64_t launches) {
  std::vector<RareError> errors;
  for (const int64_t once_in : {1'000, 10'000, 100'000}) {
    const double right = std::log1p(-1 / static_cast<double>(once_in));
    errors.push_back({once_in, -std::expm1(static_cast<double>(launches) * right)});
  }
  return errors;
}

std::optional<Incorrect> DiagnoseChecks(const std::vector<CheckReport>& checks) {
  for (const CheckReport& check : checks) {
    if (check.output.poison > 0 || check.output.nan > 0) {
      return Diagnose(check.output, DetectorName(check.input), Where(check.input));
    }
  }
  std::vector<CheckInput> order(kAllCheckInputs.begin(), kAllCheckInputs.end());
  // The inputs that expose narrow sums are asked first, since they name the cause. Where sums of
  // zeros and ones are wrong already, the cause is another one.
  if (!Failed(checks, CheckInput::kZeroOne)) {
    order.insert(order.begin(), {CheckInput::kBf16Accumulate, CheckInput::kFp16Accumulate});
  }
  for (CheckInput input : order) {
    if (!Failed(checks, input)) continue;
    return Diagnose(FindCheck(checks, input)->output, DetectorName(input), Where(input));
  }
  return std::nullopt;
}

}  // namespace warpsmith::judge
