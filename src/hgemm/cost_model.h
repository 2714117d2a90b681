// Predicted times of HGEMM configurations: good enough to say where to measure first, never a
// result.
//
//   time = launch + power * norm(busiest SM, ramp + epilogue + HBM, L2, tensor peak)
//          + further launches
//
// where norm is somewhat more than the largest of its bounds, and the busiest SM's ramp and
// epilogue are a part of its time.
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
