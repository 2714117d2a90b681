// What is known of a shape's space: `hgemm show`.
#ifndef WARPSMITH_HGEMM_BENCH_KNOWN_POINTS_H_
#define WARPSMITH_HGEMM_BENCH_KNOWN_POINTS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/tuning/search.h"

namespace warpsmith::hgemm {

struct KnownPoint {
  Point point;
  double predicted_us = 0;
  std::optional<double> measured_us, ratio;
  std::string outcome;  // empty: not measured
};

// What the recording or the store knows of each point under the search's protocol. Measured ones
// come first, fastest first; then by prediction.
Result<std::vector<KnownPoint>> KnownPoints(search::Machine& machine, const search::SearchJob& job);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_KNOWN_POINTS_H_
