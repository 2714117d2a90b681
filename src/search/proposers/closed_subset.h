// A smaller space that is whole in itself: what is left after values of parameters have been struck
// out, so that neighbours of a point are still one step away.
#ifndef WARPSMITH_SEARCH_PROPOSERS_CLOSED_SUBSET_H_
#define WARPSMITH_SEARCH_PROPOSERS_CLOSED_SUBSET_H_

#include "core/space.h"
#include "search/proposers/terrain.h"

namespace warpsmith::proposers {

// Every family gets an equal share of `limit` (what a small one leaves goes to the others), because
// a model compares families less well than members of one. In a family, the values whose best
// predicted point is the slowest are struck out, one at a time, until the share is kept; a
// parameter keeps at least one value. The order of points is kept. `limit` >= 1; a space that is
// small enough is returned as it is.
Space ClosedSubset(const Space& space, const CostModel& model, size_t limit);

}  // namespace warpsmith::proposers

#endif  // WARPSMITH_SEARCH_PROPOSERS_CLOSED_SUBSET_H_
