// The best kernel of runs that are in the store.
#ifndef WARPSMITH_STORE_BEST_STEP_H_
#define WARPSMITH_STORE_BEST_STEP_H_

#include <optional>
#include <vector>

#include "base/result.h"
#include "core/step.h"
#include "core/store.h"
#include "store/database_store.h"

namespace warpsmith::store {

// The passed step with the best ratio to the bar that its run did not overrule; certified ones come
// before screened ones.
Result<std::optional<Step>> BestStep(store::DatabaseStore& store,
                                     const std::vector<RunRecord>& runs);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_BEST_STEP_H_
