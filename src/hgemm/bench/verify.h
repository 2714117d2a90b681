// `hgemm verify`: are kernels right on this GPU and driver?
#ifndef WARPSMITH_HGEMM_BENCH_VERIFY_H_
#define WARPSMITH_HGEMM_BENCH_VERIFY_H_

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "hgemm/bench/options.h"

namespace warpsmith::hgemm {

struct Verified {
  int64_t judged = 0, failed = 0;
  size_t kernels = 0, shapes = 0;  // that were to be judged
};

// Judges the configuration of each family that the model likes best on each shape, or the kernels
// that the catalogue chose, as this program makes them; what is known of them is no answer. A row a
// kernel in options.csv, as it comes, over what is there; progress and failures are said on stderr.
Result<Verified> Verify(const VerifyOptions& options);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_VERIFY_H_
