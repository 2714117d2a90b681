// Whether a run may be resumed.
#ifndef WARPSMITH_SEARCH_RUN_IDENTITY_H_
#define WARPSMITH_SEARCH_RUN_IDENTITY_H_

#include "base/result.h"
#include "core/store.h"

namespace warpsmith::search {

// kConfig, naming the first thing that differs, unless `now` would go on exactly as `stored` did.
// The command line and where a recording lies may differ.
Status CheckSameRun(const RunRecord& stored, const RunRecord& now);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_RUN_IDENTITY_H_
