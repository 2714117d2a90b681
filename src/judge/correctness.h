// What counts as a right answer. docs/judge-protocol.md derives the bound.
#ifndef WARPSMITH_JUDGE_CORRECTNESS_H_
#define WARPSMITH_JUDGE_CORRECTNESS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith::judge {

// On which side of the reference outputs lie. A bound looks at |out - ref| alone, so that digits
// cut off pass it wherever it leaves room for honest sums; their mean with its sign does not.

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
bool ExposesNarrowSums(CheckInput input, DType output, int64_t k);

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

// What is known of a candidate's correctness while its contest runs: what was checked, and the right
// answer to each combination of contents, so that another answer to the same question shows.
class CorrectnessBook {
 public:
  // `allowed_bias` as of the problem; 0: bias is not judged.
  explicit CorrectnessBook(double allowed_bias) : allowed_bias_(allowed_bias) {}

  // For the verdict: what was looked for, and what could not be.
  void AddDetector(std::string_view name) { correctness_.detectors.emplace_back(name); }
  void AddAbsent(std::string why) { correctness_.absent.push_back(std::move(why)); }

  // The outputs of the check inputs. The verdict on a wrong one.
  std::optional<Incorrect> EnterChecks(const std::vector<CheckReport>& reports);

  // One output of a batch or burst. The verdict on a wrong answer; a right one is entered. `where`
  // as of Diagnose. An answer that was right for the combination and now is not is called
  // "nondeterministic-wrong".
  std::optional<Incorrect> Enter(const OutputReport& report, int combination,
                                 std::string_view where);

  // Did another combination than this one give these bits?
  bool IsAnswerToAnother(uint64_t content_hash, int combination) const;

  // Around the outputs of a round. The verdict on their bias, which shows only in many of them.
  void BeginRound() { round_deviation_ = 0; }
  std::optional<Incorrect> EndRound();

  // The contents have been drawn anew: a combination's number stands for other inputs now, so what
  // its answer was says nothing any more.
  void ForgetContents() { hashes_.clear(); }

  int64_t outputs_verified() const { return correctness_.outputs_verified; }
  Correctness Finish(Level level) const;

 private:
  double allowed_bias_;
  Correctness correctness_;
  std::map<int, uint64_t> hashes_;  // combination -> bits of the right output
  double round_deviation_ = 0;      // the largest |out - ref| since the round began
  // Of the outputs entered: each combination's once, for the same inputs tell nothing new.
  BiasSums bias_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CORRECTNESS_H_
