// `hgemm bench --against`: somebody's library beside cuBLASLt, autotuned, under the judge's
// protocol.
#ifndef WARPSMITH_TOOLS_AGAINST_H_
#define WARPSMITH_TOOLS_AGAINST_H_

#include "options.h"
#include "util/result.h"

namespace warpsmith::cli {

// Judges the kernel that the cost model likes best on each shape, with both libraries as its
// baselines: all three meet the same rounds, and both libraries' results are compared with the
// reference. Prints and writes the library's ratio to cuBLASLt.
Result<int> RunAgainst(const BenchOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_AGAINST_H_
