// The best kernel of runs that are in the store.
#ifndef WARPSMITH_TOOLS_BEST_STEP_H_
#define WARPSMITH_TOOLS_BEST_STEP_H_

#include <optional>
#include <vector>

#include "base/result.h"
#include "core/step.h"
#include "core/store.h"
#include "store/sqlite_store.h"

namespace warpsmith::cli {

// The passed step with the best ratio to the bar that its run did not overrule; certified ones come
// before screened ones.
Result<std::optional<Step>> BestStep(store::SqliteStore& store, const std::vector<RunRecord>& runs);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_BEST_STEP_H_
