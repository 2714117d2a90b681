// What a verdict is worth to somebody who learns from it: the one place where rewards are made.
// Pure functions of what is stored, so that a stored verdict can be scored again in another form.
//
// Sources: CUDA-L2 (Eq. 3), CUDA-L1 (smoothing, clipping), CUDA Agent (-1, 1, 2, 3), KernelGYM.
// Raw Eq. 3 of a step, which the store keeps, is core/step.h's Reward().
#ifndef WARPSMITH_CORE_REWARD_H_
#define WARPSMITH_CORE_REWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/verdict.h"

namespace warpsmith {

enum class RewardForm : uint8_t {
  kEq3,       // min(e, clip)
  kSmoothed,  // tanh(ln e)
  kOrdinal,   // 1 right, 2 faster by 5 % than one of the baselines, 3 than each
  kLog,       // log2(min(e, clip))
};

// e: the ratio that was earned. From all forms but kOrdinal is taken off
//   alpha * mean deviation + min(beta * bytes of code without comments, 0.05).
struct RewardShape {
  RewardForm form = RewardForm::kEq3;
  double alpha = 0, beta = 0;
  double clip = 3;  // above 1
};

// "form=log,alpha=0.1,beta=1e-6,clip=4", each at most once. kUsage.
Result<RewardShape> ParseRewardShape(std::string_view text);
Result<RewardForm> RewardFormFrom(std::string_view name);  // kUsage
Status CheckRewardShape(const RewardShape& shape);         // kUsage

// What of a verdict a reward is made of.
struct RewardFacts {
  enum class Kind : uint8_t { kPassed, kFailed, kUndecided, kUnreadable };
  Kind kind = Kind::kUndecided;
  std::optional<double> ratio;  // to the first baseline; nullopt: not compared
  Interval interval{1, 1};      // of it
  std::vector<Interval> each;   // to each baseline that it was compared with
  double deviation = 0;         // mean over the verified rounds
  int64_t code_bytes = 0;       // of all sources, without comments and blanks at line ends
};
RewardFacts RewardFactsOf(const Candidate& candidate, const Verdict& verdict);

// The end of the interval that is nearest to 1, or 1 within it: luck does not pay.
double EarnedRatio(const Interval& interval);

// Where the passed members of a group cannot be told apart by their measurements (all intervals
// overlap) each gets what they have in common: so noise gives no advantage to any.
void LevelGroup(std::span<RewardFacts* const> group);

inline constexpr double kFailedReward = -1;
inline constexpr double kUnreadableReward = -1.5;

struct ShapedReward {
  std::optional<double> value;  // nullopt: nothing is known of the candidate
  std::vector<std::pair<std::string_view, double>> terms;
};
// A passed one is always above a failed one, and a gain above none, whatever is taken off.
ShapedReward ShapeReward(const RewardFacts& facts, const RewardShape& shape);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_REWARD_H_
