// `warpsmith record`: whole spaces of shapes, measured into a recording.
#ifndef WARPSMITH_HGEMM_BENCH_RECORD_H_
#define WARPSMITH_HGEMM_BENCH_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"
#include "core/device.h"
#include "hgemm/bench/options.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {

inline constexpr double kSecondsAScreenedVerdict = 0.06;  // on an H200

// One a shape, with its space.
Result<std::vector<search::SearchJob>> JobsToRecord(search::Machine& machine,
                                                    const RecordOptions& options);

struct Recorded {
  int64_t verdicts = 0;  // that the file holds
  bool done = true;      // false: stopped before the last shape was done
};
// Goes on with a recording that was begun. kNothingMeasured: the file holds no verdict.
Result<Recorded> Record(search::Machine& machine, const RecordOptions& options,
                        const std::vector<search::SearchJob>& jobs);

// --- Kernels to be judged on a GPU that is elsewhere: `bundle make`.

// Adds the shape's jobs, compiled for the architecture ("sm_90a"), to `jobs`: at most `limit`
// points. Returns how many did not compile.
Result<int> AddJobs(Compiler& compiler, const ProductOptions& product,
                    const std::string& architecture, int limit, const task::HgemmShape& shape,
                    std::vector<Job>& jobs);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_RECORD_H_
