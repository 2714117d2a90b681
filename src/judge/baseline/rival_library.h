// Somebody's kernels behind a C entry (include/warpsmith/rival.h, or warpsmith/gemm.h), to be timed
// like a baseline. The library runs in this process: only what the user trusts.
#ifndef WARPSMITH_JUDGE_BASELINE_RIVAL_LIBRARY_H_
#define WARPSMITH_JUDGE_BASELINE_RIVAL_LIBRARY_H_

#include <string>

#include "base/result.h"
#include "cuda/gemm.h"
#include "cuda/plan/timed_callable.h"

namespace warpsmith::baseline {

// The library's version where it tells one, else its path.
Result<std::string> RivalVersion(const std::string& path);

// kBadInput where the file cannot be opened, exports neither entry, or has no kernel for the shape.
// The bindings are "A", "B", "C". In the current context.
Result<plan::TimedCallable> MakeRivalLibrary(const std::string& path, const cuda::GemmShape& shape);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_RIVAL_LIBRARY_H_
