// What won on shapes nearby, as points of another shape's space: where a cost model ranks wrongly,
// neighbours know better.
#ifndef WARPSMITH_HGEMM_NEIGHBOURS_H_
#define WARPSMITH_HGEMM_NEIGHBOURS_H_

#include <cstddef>
#include <vector>

#include "core/space.h"
#include "hgemm/catalogue.h"
#include "hgemm/family.h"
#include "hgemm/problem.h"

namespace warpsmith::hgemm {

// Of the problem's layout and type, on whatever device, the best kernels of the shapes nearest to
// it (sums of factors of two in M and N, half as much in K; at most three away), its own included,
// the nearest first. Also of M and N exchanged, with rows and columns of their tiles exchanged.
// Points of `space`, none twice, as many as `most` or the problem's own, whichever are more. A kernel
// that `space` does not hold stands for the point of its family that differs least from it: only in
// depth of the ring, order and rounds of tiles, warps of the producer, and how it stores and overlaps.
std::vector<Point> LikeWinnersNearby(const Catalogue& catalogue, const Problem& problem,
                                     const Space& space, size_t most);

// The space with the problem's own kernels by the catalogue at its end, those of whatever device
// that are legal on the target: a space leaves out what is seldom worth a look, and what won may be
// that.
Space WithOwnWinners(const Catalogue& catalogue, const Problem& problem, const Target& target,
                     const Space& space);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_NEIGHBOURS_H_
