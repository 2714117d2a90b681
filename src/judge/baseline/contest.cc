#include "judge/baseline/contest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "core/protocol.h"

namespace warpsmith::baseline {
namespace {

class Contestants {
 public:
  explicit Contestants(const std::vector<int>& groups) : groups_(groups), times_(groups.size()) {
    left_.resize(groups.size());
    std::iota(left_.begin(), left_.end(), 0);
  }

  Status Rounds(int rounds, Random& random, const std::function<Result<double>(int)>& time_us) {
    for (int round = 0; round < rounds; ++round) {
      random.Shuffle(left_);
      for (const int i : left_) times_[i].push_back(TRY(time_us(i)));
    }
    return {};
  }

  // Those who are left of each group, the fastest first.
  std::map<int, std::vector<int>> Ranked() const {
    std::map<int, std::vector<int>> ranked;
    for (const int i : left_) ranked[groups_[i]].push_back(i);
    for (auto& [group, of_group] : ranked) {
      std::sort(of_group.begin(), of_group.end(),
                [this](int a, int b) { return MedianOf(a) < MedianOf(b); });
    }
    return ranked;
  }

  bool AnyGroupAbove(int finalists) const {
    const auto ranked = Ranked();
    return std::any_of(ranked.begin(), ranked.end(), [&](const auto& group) {
      return group.second.size() > static_cast<size_t>(finalists);
    });
  }

  void Halve(const ContestRules& rules) {
    std::vector<int> left;
    for (const auto& [group, ranked] : Ranked()) {
      const auto finalists = static_cast<size_t>(rules.finalists);
      const size_t most =
          ranked.size() <= finalists ? ranked.size() : std::max(finalists, ranked.size() / 2);
      const double limit_us = rules.hopeless * MedianOf(ranked.front());
      for (size_t rank = 0; rank < most && MedianOf(ranked[rank]) <= limit_us; ++rank) {
        left.push_back(ranked[rank]);
      }
    }
    left_ = std::move(left);
  }

  double MedianOf(int i) const { return Median(times_[i]); }

 private:
  const std::vector<int>& groups_;
  std::vector<int> left_;
  std::vector<std::vector<double>> times_;
};

}  // namespace

std::string ContestId() {
  return "j" + std::to_string(kJudgeProtocolVersion) + "/contest" + std::to_string(kContestVersion);
}

Result<ContestResult> RunContest(const std::vector<int>& groups, const ContestRules& rules,
                                 Random& random,
                                 const std::function<Result<double>(int)>& time_us) {
  CHECK(!groups.empty() && rules.first_rounds >= 1 && rules.later_rounds >= 1);
  Contestants contestants(groups);
  int rounds = rules.first_rounds;
  do {
    TRY(contestants.Rounds(rounds, random, time_us));
    contestants.Halve(rules);
    rounds = rules.later_rounds;
  } while (contestants.AnyGroupAbove(rules.finalists));
  TRY(contestants.Rounds(rules.last_rounds, random, time_us));
  ContestResult result;
  result.of_groups.assign(*std::max_element(groups.begin(), groups.end()) + 1, -1);
  for (const auto& [group, ranked] : contestants.Ranked()) result.of_groups[group] = ranked.front();
  for (size_t i = 0; i < groups.size(); ++i) {
    result.medians_us.push_back(contestants.MedianOf(static_cast<int>(i)));
  }
  result.winner = -1;
  for (const int i : result.of_groups) {
    if (i < 0) continue;
    const bool better =
        result.winner < 0 || result.medians_us[i] < result.medians_us[result.winner];
    if (better) result.winner = i;
  }
  return result;
}

}  // namespace warpsmith::baseline
