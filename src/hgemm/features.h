// What a cost model is told of a configuration: numbers that follow from the problem, the device
// and the point, none of which was fitted. The program that fits models reads them from
// `warpsmith hgemm features`, so they are defined here alone.
#ifndef WARPSMITH_HGEMM_FEATURES_H_
#define WARPSMITH_HGEMM_FEATURES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hgemm/family.h"

namespace warpsmith::hgemm {

// How a configuration divides its problem.
struct Workload {
  int64_t tile_m = 1, tile_n = 1, tile_k = 1;  // of a CTA, elements; tile_k: between two waits
  int64_t ctas = 1;
  int64_t cluster = 1;       // CTAs that must start together within one GPC
  int64_t parts = 1;         // K ranges of a tile that different CTAs add up
  int64_t threads = 32;      // of a CTA
  int64_t registers = 32;    // of a thread, estimated
  int64_t shared_bytes = 0;  // of a CTA
  int64_t stages = 1;        // k-blocks that are loaded ahead
  int64_t columns = 8;       // of one matrix instruction
  int64_t fetched_rows =
      0;                // of A and B that a CTA asks L2 for; what multicast brings is not asked
  int64_t kernels = 1;  // that one product launches
  int64_t family = 0;   // its number, as trees know it
};

// nullopt for a family that this program does not know.
std::optional<Workload> WorkloadOf(const Problem& problem, const Point& point);

// The names of what FeaturesOf returns, in its order: what is derived, then every parameter that
// any family has.
std::span<const std::string> FeatureNames();

// A parameter that the point's family does not have is -1. Empty for a family that this program
// does not know. Values are floats, so that whoever reads them as text reads what a model compares.
std::vector<float> FeaturesOf(const Problem& problem, const Target& target, const Point& point);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_FEATURES_H_
