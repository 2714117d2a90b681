#include "core/step.h"

namespace warpsmith {

Cost operator+(const Cost& a, const Cost& b) {
  return {a.evaluations + b.evaluations, a.gpu_seconds + b.gpu_seconds,
          a.wall_seconds + b.wall_seconds, a.tokens + b.tokens, a.money + b.money};
}

std::optional<std::string> ReachedLimit(const Budget& budget, const Cost& spent) {
  if (spent.evaluations >= budget.evaluations) return "evals";
  if (spent.gpu_seconds >= budget.gpu_seconds) return "gpu";
  if (spent.wall_seconds >= budget.wall_seconds) return "time";
  if (spent.tokens >= budget.tokens) return "tokens";
  if (spent.money >= budget.money) return "money";
  return std::nullopt;
}

}  // namespace warpsmith
