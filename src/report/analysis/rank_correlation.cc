#include "report/analysis/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/result.h"

namespace warpsmith::analysis {
namespace {

std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    }
    first = end;
  }
  return ranks;
}

}  // namespace

std::optional<double> RankCorrelation(std::span<const double> xs, std::span<const double> ys) {
  CHECK(xs.size() == ys.size());
  if (xs.size() < kFewestForCorrelation) return std::nullopt;
  const std::vector<double> x = RanksOf(xs), y = RanksOf(ys);
  const double mean = static_cast<double>(xs.size() - 1) / 2;
  double covariance = 0, x_variance = 0, y_variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - mean) * (y[i] - mean);
    x_variance += (x[i] - mean) * (x[i] - mean);
    y_variance += (y[i] - mean) * (y[i] - mean);
  }
  if (x_variance == 0 || y_variance == 0) return std::nullopt;
  return std::clamp(covariance / std::sqrt(x_variance * y_variance), -1.0, 1.0);
}

double ChanceCorrelation(int pairs) {
  constexpr double kOneOf500 = 3.09;  // standard deviations
  return pairs < 2 ? 1 : kOneOf500 / std::sqrt(pairs - 1.0);
}

}  // namespace warpsmith::analysis
