// What a verdict is worth to a search, an agent or a trainer: the one place where rewards are made.
// Pure functions of what is stored, so that a stored verdict can be scored again in another form.
//
// Sources: CUDA-L2 (Eq. 3), CUDA-L1 (smoothing, clipping), CUDA Agent (-1, 1, 2, 3), KernelGYM.
#ifndef WARPSMITH_CORE_REWARD_H_
#define WARPSMITH_CORE_REWARD_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/step.h"
#include "core/verdict.h"

namespace warpsmith {

enum class RewardForm : uint8_t {
  kRaw,       // Eq. 3 as it is written: the mean ratio over the rounds, luck and all, not clipped
  kEq3,       // min(e, clip)
  kSmoothed,  // tanh(ln e)
  kOrdinal,   // 1 right, 2 faster by 5 % than one of the baselines, 3 than each
  kLog,       // log2(min(e, clip))
};

// e: the ratio that was earned (EarnedRatio). From all forms but kOrdinal is taken off
//   alpha * mean deviation + min(beta * bytes of code, 0.05),
// and from kRaw the same without the limit of 0.05.
struct RewardShape {
  RewardForm form = RewardForm::kEq3;
  double alpha = 0, beta = 0;
  double clip = 3;  // above 1
  bool operator==(const RewardShape&) const = default;
};
// What searches and agents go by unless they are given another: the plain ratio.
inline constexpr RewardShape kSearchReward{RewardForm::kRaw};

// "form=log,alpha=0.1,beta=1e-6,clip=4", each at most once; what it leaves out is as in `usual`.
// kUsage.
Result<RewardShape> ParseRewardShape(std::string_view text, RewardShape usual = {});
std::string TextOf(const RewardShape& shape);              // ParseRewardShape reads it back
Result<RewardForm> RewardFormFrom(std::string_view name);  // kUsage
Status CheckRewardShape(const RewardShape& shape);         // kUsage

// What of a verdict a reward is made of.
struct RewardFacts {
  enum class Kind : uint8_t { kPassed, kFailed, kUndecided, kUnreadable };
  Kind kind = Kind::kUndecided;
  std::optional<double> ratio;       // to the first baseline; nullopt: not compared
  std::optional<double> mean_ratio;  // to the same: Eq. 3's mean over the rounds
  Interval interval{1, 1};           // of it
  std::vector<Interval> each;        // to each baseline that it was compared with
  double deviation = 0;              // mean over the verified rounds
  bool was_shown = false;            // in its prompt: a copy is worth no gain
  int64_t code_bytes = 0;            // of all sources: their tokens, so without comments and blanks
};
// Ratios are those of the first mode that was timed.
RewardFacts RewardFactsOf(const Candidate& candidate, const Verdict& verdict);

// The end of the interval that is nearest to 1, or 1 within it: luck does not pay.
double EarnedRatio(const Interval& interval);

// The passed members of a group whose ratio (the middle of their interval), raised by half the width
// of the best member's interval, reaches its lower end get its interval; so do the others among
// themselves, from the best of them on (the highest lower end). So noise as large as the best one's
// gives no advantage, no neighbour lowers the best, and a wider interval never earns a larger gain.
void LevelGroup(std::span<RewardFacts* const> group);

inline constexpr double kFailedReward = -1;
inline constexpr double kUnreadableReward = -1.5;

struct ShapedReward {
  std::optional<double> value;  // nullopt: nothing is known of the candidate
  std::vector<std::pair<std::string_view, double>> terms;
};
// A passed one is always above a failed one, and a gain above none, whatever is taken off.
ShapedReward ShapeReward(const RewardFacts& facts, const RewardShape& shape);

// The raw terms of a step, as the store keeps them.
RewardTerms TermsOf(const Candidate& candidate, const Verdict& verdict, Mode mode);
// Step::reward. 0 where nothing is known of the candidate: between a failure and no gain.
double RewardOf(const Candidate& candidate, const Verdict& verdict, const RewardShape& shape);
// By what a run's steps are ranked: by the reward, or, where that is the plain ratio, by the more
// cautious RankingRatio. Nullopt when the step did not pass or was not compared.
std::optional<double> RankOf(const Step& step, Mode mode, const RewardShape& shape);

// A run's proposer goes by a reward, and another reward is another run: "guided, reward
// form=raw,alpha=0.5,beta=0,clip=3". With kSearchReward, the name alone.
std::string ProposerText(std::string_view name, const RewardShape& shape);
// Of what ProposerText made; kSearchReward for anything else.
RewardShape RewardOfProposer(std::string_view text);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_REWARD_H_
