#include "judge/baseline/contest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace warpsmith::baseline {

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<ContestResult> RunContest(int contenders, int rounds, Random& random,
                                 const std::function<Result<double>(int)>& time_us,
                                 const std::vector<int>& groups) {
  CHECK(contenders >= 1 && rounds >= 1);
  std::vector<int> alive(contenders);
  std::iota(alive.begin(), alive.end(), 0);
  std::vector<std::vector<double>> times(contenders);
  for (int round = 0; round < rounds; ++round) {
    random.Shuffle(alive);
    for (const int i : alive) times[i].push_back(TRY(time_us(i)));
    if (round > 0) continue;
    const auto group = [&](int i) { return groups.empty() ? 0 : groups[i]; };
    std::map<int, double> best;
    for (const int i : alive) {
      const auto [known, is_first] = best.emplace(group(i), times[i].front());
      if (!is_first) known->second = std::min(known->second, times[i].front());
    }
    std::erase_if(alive,
                  [&](int i) { return times[i].front() > kHopelessFactor * best[group(i)]; });
  }
  ContestResult result{alive.front(), {}};
  for (std::vector<double>& of_one : times) result.medians_us.push_back(Median(std::move(of_one)));
  for (const int i : alive) {
    if (result.medians_us[i] < result.medians_us[result.winner]) result.winner = i;
  }
  return result;
}

}  // namespace warpsmith::baseline
