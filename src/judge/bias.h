// On which side of the reference outputs lie. A bound looks at |out - ref| alone, so that digits
// cut off pass it wherever it leaves room for honest sums; their mean with its sign does not.
#ifndef WARPSMITH_JUDGE_BIAS_H_
#define WARPSMITH_JUDGE_BIAS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith::judge {

// How an output's type rounds: its significand's bits, and the exponent below which units in the
// last place stay as they are. Of 16-bit floating-point outputs whose reference is finer; others,
// whose last places honest sums lose, have a significand of 0 and no bias.
struct Rounding {
  int32_t significand = 0, least_exponent = 0;
};
Rounding LastPlaceOf(DType output, DType expected);

// Sums over elements, in halves of a unit in the last place at the reference (core's Bias). An
// element counts as 4 at most: a few that lie far off must not hide what all the others do.
struct BiasSums {
  int64_t elements = 0;
  double magnitude = 0, value = 0, square = 0;

  // What the device does in whole numbers (device/verify.cuh).
  void Add(double output, double reference, const Rounding& rounding);
  void Add(const BiasSums& other);
};

// How far from 0 the mean of an honest product of K terms may lie: 0.02, and what tensor cores lose
// that cut off digits each time they add 8 products (half a unit of the sum's type on average, half
// of it in the direction of the final sum). 0 when the tolerance does not say how sums are made.
Result<double> AllowedBias(const Tolerance& tolerance, const Rounding& rounding,
                           const Sizes& sizes);

// Nothing was added: nothing to say.
std::optional<Bias> BiasOf(const BiasSums& sums, double allowed);

// "bias", where a mean lies beyond what is allowed by more than six standard errors: chance does
// that once in 10^9 looks.
std::optional<Incorrect> DiagnoseBias(const BiasSums& sums, double allowed);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BIAS_H_
