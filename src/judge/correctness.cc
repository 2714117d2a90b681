#include "judge/correctness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::judge {
namespace {

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

bool TellsSums(CheckInput input, DType output, int64_t k) {
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
