// What counts as a right answer. docs/judge-protocol.md derives the bound.
#ifndef WARPSMITH_JUDGE_CORRECTNESS_H_
#define WARPSMITH_JUDGE_CORRECTNESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/bias.h"

namespace warpsmith::judge {

// |out - ref| <= relative * |ref| + absolute + magnitude * s, element by element, where s is what
// MagnitudeKind says.
struct BoundCoefficients {
  double relative = 0, absolute = 0, magnitude = 0;
};

enum class MagnitudeKind : uint8_t {
  kSumOfProducts,  // sum|a||b| of the element, known to the gemm reference
  kLargestValue,   // the largest |ref| of the whole output
};

// From the task's tolerance: given, or derived. Derived: half a unit in the last place of the
// output, plus what FP32 sums of the reduction's length lose: at worst with kSumOfProducts
// ((K/16 + 8) truncated additions, doubled), at random with kLargestValue ((2 sqrt(L) + 8) units).
// Whole numbers must be equal unless an absolute bound is given.
Result<BoundCoefficients> CoefficientsOf(const Tolerance& tolerance, DType output,
                                         const Sizes& sizes, MagnitudeKind kind);

// The untimed inputs that every candidate must get right before anything is timed.
enum class CheckInput : uint8_t {
  kNormal,
  kZeroOne,
  kBf16Accumulate,
  kFp16Accumulate,
  kAdversarial
};
inline constexpr std::array<CheckInput, 5> kAllCheckInputs = {
    CheckInput::kNormal, CheckInput::kZeroOne, CheckInput::kBf16Accumulate,
    CheckInput::kFp16Accumulate, CheckInput::kAdversarial};
std::string_view DetectorName(CheckInput input);  // "bound", "zero-one", ...

// Whole numbers up to this one are exact in the type, and so must be sums of zeros and ones.
int64_t LargestExactInteger(DType half);  // 2048 of f16, 256 of bf16

// Would a sum over k that was kept in the type of `input` (k*Accumulate) be off by more than the
// bound of a product's output? An FP16 sum of FP16 matrices needs four k16 blocks; on BF16 outputs,
// whose rounding hides more, twelve.
bool TellsSums(CheckInput input, DType output, int64_t k);

// What the oracle's kernel saw of one output.
struct OutputReport {
  std::string output;                       // the tensor that is worst off
  int64_t poison = 0;                       // elements that still hold this round's poison
  int64_t nan = 0;                          // NaN where the reference is finite
  int64_t wrong = 0;                        // elements beyond the bound, NaN and poison included
  double worst_fraction = 0;                // largest error / bound
  double worst_error = 0, worst_bound = 0;  // at that element
  int64_t worst_element = -1;
  double max_deviation = 0;   // largest |out - ref| over all elements
  uint64_t content_hash = 0;  // equal for equal bits
  BiasSums bias;              // of all elements
};

// The verdict on one output, or nothing when it is right. `detector` is named when the values are
// off (poison and NaN name themselves); `where` says which output, for the detail.
std::optional<Incorrect> Diagnose(const OutputReport& report, std::string_view detector,
                                  std::string_view where);

// How probably launches that were verified, each by itself, would have caught errors that come once
// in 1,000, 10,000 and 100,000 launches: 1 - (1 - 1/N)^launches.
std::vector<RareError> RareErrorsCaughtBy(int64_t launches);

struct CheckReport {
  CheckInput input = CheckInput::kNormal;
  OutputReport output;
};
// The most telling of the failed checks: unwritten or NaN output first; half-precision sums when
// only precision is off; else the first failed check in the order of kAllCheckInputs.
std::optional<Incorrect> DiagnoseChecks(const std::vector<CheckReport>& checks);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CORRECTNESS_H_
