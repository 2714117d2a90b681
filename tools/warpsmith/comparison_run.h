// The loop of `hgemm bench --against`: measures what a comparison lacks, shape by shape.
#ifndef WARPSMITH_TOOLS_COMPARISON_RUN_H_
#define WARPSMITH_TOOLS_COMPARISON_RUN_H_

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "comparison_file.h"
#include "hgemm/family.h"

namespace warpsmith::cli {

struct Measured {
  hgemm::ComparisonSession session;
  MeasuredShape result;
};

// Nullopt: the shape cannot be compared now; the measurer has said why. `next` (null at the end)
// may be prepared for meanwhile.
using MeasureShape = std::function<Result<std::optional<Measured>>(const hgemm::Problem& problem,
                                                                   const hgemm::Problem* next)>;

struct ComparisonProgress {
  size_t known = 0;     // in the table before
  size_t measured = 0;  // now
  size_t failed = 0;    // asked for in vain
  size_t left = 0;      // not reached
};

// Each shape is kept as soon as it is measured. Stops, without an error, once `is_late` says so or
// at Ctrl-C; before the first shape only at Ctrl-C. Where the table is empty, it stops when the
// first five shapes were asked for in vain, too.
Result<ComparisonProgress> MeasureMissing(const std::vector<hgemm::Problem>& problems,
                                          ComparisonFile& file,
                                          const std::function<bool()>& is_late,
                                          const MeasureShape& measure);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARISON_RUN_H_
