// A task and workload as the gemm reference sees them: which tensor is A, B and C, and their sizes.
#ifndef WARPSMITH_JUDGE_PROBLEM_H_
#define WARPSMITH_JUDGE_PROBLEM_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/task.h"
#include "judge/correctness.h"
#include "judge/slot_plan.h"
#include "util/result.h"

namespace warpsmith::judge {

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  bool transposed = false;                  // B is N x K ("TN")
  std::array<std::string, kInputs> inputs;  // names of A and B
  std::array<Generator, kInputs> generators{};
  std::string output;
  std::array<int64_t, kInputs> input_bytes{};
  int64_t output_bytes = 0;
  BoundCoefficients bound;

  int64_t output_elements() const { return m * n; }
};

// kBadInput, naming the tensor and what was expected, for what this judge cannot judge: another
// reference than "gemm", other element types than f16, shapes that do not fit together.
Result<GemmProblem> ProblemOf(const Task& task, const Workload& workload);

// What the oracle keeps of each combination's expected output: FP64 product, FP32 magnitude.
inline constexpr int64_t kReferenceBytesPerElement = 12;

ProblemBytes BytesOf(const GemmProblem& problem);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROBLEM_H_
