// Who competes for a baseline's name: every way in which the library can compute the product;
// and a user's own library as one of them.
#ifndef WARPSMITH_JUDGE_BASELINE_ENTRANTS_H_
#define WARPSMITH_JUDGE_BASELINE_ENTRANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/gemm.h"
#include "cuda/plan/prepared_plan.h"
#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::baseline {

struct EntrantOptions {
  int algorithms = 100;            // answers asked of cuBLASLt's heuristic, a layout
  uint32_t alignment_bytes = 256;  // what every address that will be bound keeps
  // Above 0: beside the heuristic's answers, whatever the library takes of all that its algorithms
  // can be configured to, as many as are found in so many seconds (LtMatmul::EveryAlgorithm).
  double exhaustive_seconds = 0;
};

// Of each layout that the name leaves open: cublasGemmEx, the heuristic's first answer, or all of
// them, without times. The heuristic's answers come in its order, before what an exhaustive list
// adds. No call stands there twice. Never empty. Where cuBLAS cannot be opened, cublaslt-auto does
// without it.
Result<std::vector<GemmBaselineChoice>> Entrants(const GemmBaselineName& name,
                                                 const GemmProblem& problem,
                                                 const EntrantOptions& options = {});

// The first of each call (CallOf).
std::vector<GemmBaselineChoice> DistinctCalls(std::vector<GemmBaselineChoice> entrants);

// --- Somebody's kernels behind a C entry (include/warpsmith/rival.h, or warpsmith/gemm.h), to be
// timed like a baseline. The library runs in this process: only what the user trusts.

// The library's version where it tells one, else its path.
Result<std::string> ThirdPartyVersion(const std::string& path);

// kBadInput where the file cannot be opened, exports neither entry, or has no kernel for the shape.
// The bindings are "A", "B", "C". In the current context.
Result<plan::TimedCallable> MakeThirdParty(const std::string& path, const cuda::GemmShape& shape);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_ENTRANTS_H_
