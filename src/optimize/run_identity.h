// Whether a run may be resumed.
#ifndef WARPSMITH_OPTIMIZE_RUN_IDENTITY_H_
#define WARPSMITH_OPTIMIZE_RUN_IDENTITY_H_

#include "core/store.h"
#include "util/result.h"

namespace warpsmith::optimize {

// kConfig, naming the first thing that differs, unless `now` would go on exactly as `stored` did.
// The command line and where a recording lies may differ.
Status CheckSameRun(const RunRecord& stored, const RunRecord& now);

}  // namespace warpsmith::optimize

#endif  // WARPSMITH_OPTIMIZE_RUN_IDENTITY_H_
