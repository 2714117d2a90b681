// Kernels to be judged on a GPU that is elsewhere: `bundle make`.
#ifndef WARPSMITH_HGEMM_BENCH_BUNDLE_JOBS_H_
#define WARPSMITH_HGEMM_BENCH_BUNDLE_JOBS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"
#include "core/device.h"
#include "hgemm/bench/options.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {

struct BundleJobs {
  ProductOptions product;
  std::string architecture;
  int limit = 64;  // points a shape
};
// Adds compiled jobs of the shape to `jobs`; returns how many did not compile.
Result<int> AddJobs(Compiler& compiler, const BundleJobs& options, const task::HgemmShape& shape,
                    std::vector<Job>& jobs);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_BUNDLE_JOBS_H_
