#include "search/spending.h"

#include <cmath>
#include <limits>

namespace warpsmith::search {
namespace {

enum class WallTime { kCounts, kIgnored };

std::optional<std::string> Passed(const Budget& budget, const Cost& cost, WallTime wall_time) {
  if (cost.evaluations > budget.evaluations) return "evals";
  if (cost.gpu_seconds > budget.gpu_seconds) return "gpu";
  if (wall_time == WallTime::kCounts && cost.wall_seconds > budget.wall_seconds) return "time";
  if (cost.tokens > budget.tokens) return "tokens";
  if (cost.money > budget.money) return "money";
  return std::nullopt;
}

bool LimitsCostOfStep(const Budget& budget) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  return std::isfinite(budget.gpu_seconds) || std::isfinite(budget.wall_seconds) ||
         std::isfinite(budget.money) || budget.tokens != kNoLimit;
}

}  // namespace

void Spending::Add(const Cost& cost) { spent_ = spent_ + cost; }

Cost Spending::Expected(int steps) const {
  Cost expected;
  expected.evaluations = steps;
  if (spent_.evaluations == 0) return expected;
  const double scale = static_cast<double>(steps) / static_cast<double>(spent_.evaluations);
  expected.gpu_seconds = spent_.gpu_seconds * scale;
  expected.wall_seconds = spent_.wall_seconds * scale;
  expected.tokens = std::llround(static_cast<double>(spent_.tokens) * scale);
  expected.money = spent_.money * scale;
  return expected;
}

std::optional<std::string> Spending::StopsStart(int started) const {
  if (const auto reached = ReachedLimit(budget_, spent_)) return reached;
  if (started > 0 && spent_.evaluations == 0 && LimitsCostOfStep(budget_)) return "unknown";
  return Passed(budget_, spent_ + Expected(started + 1), WallTime::kCounts);
}

std::optional<std::string> Spending::StopsCommit(const Cost& cost) const {
  const bool free = cost.gpu_seconds == 0 && cost.tokens == 0 && cost.money == 0;
  if (!free) {
    if (const auto limit = Passed(budget_, spent_ + Expected(1), WallTime::kIgnored)) return limit;
  }
  return Passed(budget_, spent_ + cost, WallTime::kIgnored);
}

}  // namespace warpsmith::search
