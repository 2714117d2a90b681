// A table of known baseline times, and how far measured ones are from it.
//
// CSV: lines starting with '#' are notes; then a header naming at least m, n, k and the time's
// column; more columns are ignored.
#ifndef WARPSMITH_JUDGE_BASELINE_PRIMARY_TABLE_H_
#define WARPSMITH_JUDGE_BASELINE_PRIMARY_TABLE_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::baseline {

using ShapeKey = std::array<int64_t, 3>;          // m, n, k
using PrimaryTable = std::map<ShapeKey, double>;  // microseconds

// `column` is the time's name in the header, "device_us" for instance. Errors give source and line.
Result<PrimaryTable> ParsePrimaryTable(std::string_view source, std::string_view text,
                                       std::string_view column);
Result<PrimaryTable> ReadPrimaryTable(const std::filesystem::path& path, std::string_view column);

struct PrimaryDifference {
  ShapeKey shape{};
  double measured_us = 0, known_us = 0;
  double relative() const { return measured_us / known_us - 1; }  // above 0: measured is slower
};

struct PrimaryComparison {
  int shapes = 0;                              // in both tables
  double median_relative = 0;                  // of all of them
  std::vector<PrimaryDifference> differences;  // beyond the tolerance, largest first
};

// kNothingMeasured when the tables share no shape.
Result<PrimaryComparison> ComparePrimaries(const PrimaryTable& measured, const PrimaryTable& known,
                                           double tolerance = 0.10);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_PRIMARY_TABLE_H_
