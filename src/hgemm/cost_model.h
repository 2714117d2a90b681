// Predicted times of HGEMM configurations: good enough to say where to measure first, never a
// result.
//
//   time = launch + ramp + max(SM throughput, chain of one SM's CTAs, HBM or L2 for the whole
//   device,
//          tensor peak under the power limit) + epilogue + further launches
#ifndef WARPSMITH_HGEMM_COST_MODEL_H_
#define WARPSMITH_HGEMM_COST_MODEL_H_

#include <string>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// Microseconds in a CUDA graph with a hot L2; infinite for a family that the model does not know.
double PredictUs(const Problem& problem, const Target& target, const Point& point);

// "wgmma 128x256", "wgmma 64x64 sliced": configurations of one family, CTA tile and way of working
// are fast or slow together.
std::string ArmOf(const Problem& problem, const Target& target, const Point& point);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COST_MODEL_H_
