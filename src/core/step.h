// One turn of the loop, what it cost, and how much may be spent.
#ifndef WARPSMITH_CORE_STEP_H_
#define WARPSMITH_CORE_STEP_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/verdict.h"

namespace warpsmith {

// Raw terms of CUDA-L2's Eq. 3, for i over the rounds (core/reward.h makes rewards):
//   r = mean_i( t_ref_i / t_custom_i - alpha * max_j |out_FP32_i[j] - out_i[j]| ) - beta * L(code).
struct RewardTerms {
  std::vector<double> ratios;
  std::vector<double> deviations;
  int64_t code_length_bytes = 0;
};

struct Cost {
  int64_t evaluations = 0;
  double gpu_seconds = 0, wall_seconds = 0;
  int64_t tokens = 0;
  double money = 0;
};
Cost operator+(const Cost& a, const Cost& b);

struct Step {
  int64_t index = 0;  // commit order within the run
  Candidate candidate;
  Verdict verdict;
  RewardTerms terms;
  double reward = 0;  // of the run's RewardShape
  Cost cost;
};

using Trajectory = std::vector<Step>;

// Hard limits: a run stops before it passes one.
struct Budget {
  int64_t evaluations = std::numeric_limits<int64_t>::max();
  double gpu_seconds = std::numeric_limits<double>::infinity();
  double wall_seconds = std::numeric_limits<double>::infinity();
  int64_t tokens = std::numeric_limits<int64_t>::max();
  double money = std::numeric_limits<double>::infinity();
};
// "evals=200,gpu=30s,time=10m,tokens=1e6,money=5"
Result<Budget> ParseBudget(std::string_view text);
// The name of the first limit that `spent` has reached, if any.
std::optional<std::string> ReachedLimit(const Budget& budget, const Cost& spent);

// How a step is named outside its run: "run:<run>#<index>". Verdicts are so named to coding agents
// and in the knowledge base.
struct StepReference {
  std::string run;
  int64_t index = 0;
};

std::string TextOf(const StepReference& reference);
// Nullopt where the text names no step. A run's id may hold any character, '#' included.
std::optional<StepReference> StepReferenceFrom(std::string_view text);

// A run's best are certified in a run of their own: "<the run's id>/certify-<hash>".
inline constexpr std::string_view kCertification = "/certify-";
// The run whose best a run certifies; of any other run its own id.
inline std::string_view CertifiedRun(std::string_view id) {
  return id.substr(0, id.rfind(kCertification));
}
inline bool IsCertification(std::string_view id) { return CertifiedRun(id) != id; }

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_STEP_H_
