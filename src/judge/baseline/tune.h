// Choosing a baseline's algorithm and layout by timing.
#ifndef WARPSMITH_JUDGE_BASELINE_TUNE_H_
#define WARPSMITH_JUDGE_BASELINE_TUNE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::baseline {

struct TuneOptions {
  int algorithms = 100;  // answers asked of cuBLASLt's heuristic, a layout
  size_t workspace_bytes = size_t{32} << 20;
  uint32_t alignment_bytes = 256;  // what every address that will be bound keeps
  int rounds = 7;
  double batch_us = 200;  // a timed batch lasts about so long, and is at least one launch
};

struct GemmBaselineChosen {
  GemmBaselineChoice best;
  // The best of each layout, named with it, where the name asked had left that open: what the same
  // rounds say of callers who have no choice of layout.
  std::vector<GemmBaselineChoice> of_layouts;
};

// What `name` comes to for a product. Every contender (algorithm x layout) is captured in a graph
// of its own and replayed in rounds, in an order drawn anew for each, always right after an untimed
// replay of itself, so that all see the L2 as their own launches leave it. The best median wins;
// those that a first round shows to be more than 1.3 times slower than the best of their layout are
// not timed again. Where a name leaves nothing to choose, nothing is timed. `operands` hold m*k,
// k*n and m*n elements; A and B are random, C is overwritten.
Result<GemmBaselineChosen> ChooseGemmBaseline(const GemmBaselineName& name,
                                              const GemmProblem& problem,
                                              const cuda::GemmOperands& operands,
                                              const cuda::Stream& stream,
                                              const TuneOptions& options = {});

// A, B and C of their own, for those who have none: N(0, 1) in A and B.
struct TuningMatrices {
  cuda::DeviceBuffer a, b, c;
  cuda::GemmOperands operands() const { return {a.address(), b.address(), c.address()}; }
};
Result<TuningMatrices> AllocateTuningMatrices(const GemmProblem& problem);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_TUNE_H_
