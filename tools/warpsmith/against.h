// `hgemm bench --against`: somebody's library beside cuBLASLt, autotuned, under the judge's
// protocol.
#ifndef WARPSMITH_TOOLS_AGAINST_H_
#define WARPSMITH_TOOLS_AGAINST_H_

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

// Judges the catalogue's kernel of each shape, or the one that the cost model likes best, with both
// libraries as its baselines: all three meet the same rounds, and both libraries' results are
// compared with the reference. With --csv each shape is written as soon as it is measured, and
// those that stand there are not measured again. Prints the summary.
Result<int> RunAgainst(const BenchOptions& options);

// The summary of the comparisons in `options.from`, joined; with --csv they are written as one.
// Needs no GPU.
Result<int> RunComparisonSummary(const BenchOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGAINST_H_
