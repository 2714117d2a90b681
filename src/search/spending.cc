#include "search/spending.h"

#include <cmath>
#include <limits>

#include "base/clock.h"

namespace warpsmith::search {
namespace {

enum class WallTime { kCounts, kIgnored };

std::optional<std::string> PassedLimit(const Budget& budget, const Cost& cost, WallTime wall_time) {
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

Spending::Spending(const Budget& budget) : budget_(budget), accounted_at_(MonotonicSeconds()) {}

void Spending::AddElsewhere(const Cost& cost) {
  Add(cost);
  accounted_at_ += cost.wall_seconds;
}

Cost Spending::OfStep(const Cost& thought, double gpu_seconds) const {
  Cost cost = thought;
  cost.evaluations = 1;
  cost.gpu_seconds = gpu_seconds + pending_gpu_seconds_;
  cost.wall_seconds = MonotonicSeconds() - accounted_at_;
  return cost;
}

void Spending::Commit(const Cost& cost) {
  Add(cost);
  pending_gpu_seconds_ = 0;
  accounted_at_ = MonotonicSeconds();
}

Cost Spending::SpentByNow() const {
  return spent_ + Cost{0, pending_gpu_seconds_, MonotonicSeconds() - accounted_at_, 0, 0};
}

std::optional<std::string> Spending::Exhausted() const {
  Spending all(budget_);
  all.Add(SpentByNow());
  return all.StopsStart(0);
}

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
  return PassedLimit(budget_, spent_ + Expected(started + 1), WallTime::kCounts);
}

std::optional<std::string> Spending::StopsCommit(const Cost& cost) const {
  const bool free = cost.gpu_seconds == 0 && cost.tokens == 0 && cost.money == 0;
  if (!free) {
    if (const auto limit = PassedLimit(budget_, spent_ + Expected(1), WallTime::kIgnored))
      return limit;
  }
  return PassedLimit(budget_, spent_ + cost, WallTime::kIgnored);
}

}  // namespace warpsmith::search
