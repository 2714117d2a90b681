// What a comparison comes to: by mode, and in each by the amount of work.
#ifndef WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_
#define WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

// By 2*M*N*K: up to 2^28, up to 2^33, up to 2^37, above.
enum class SizeClass : uint8_t { kTiny, kSmall, kMedium, kLarge };
inline constexpr std::array<SizeClass, 4> kSizeClasses = {SizeClass::kTiny, SizeClass::kSmall,
                                                          SizeClass::kMedium, SizeClass::kLarge};
std::string_view Name(SizeClass size_class);  // "tiny"
SizeClass ClassOf(const Problem& problem);

// floor(log2(M*N*K))
int SizeExponent(const Problem& problem);

// Ratios of some shapes in one mode.
struct RatioSummary {
  int shapes = 0;
  double geomean = 0;
  // Of the geometric mean over exactly these shapes: what measuring them again would give. Half the
  // logarithm's width is the root of the sum of the shapes' squared, over their number.
  Interval interval;
  int faster = 0, same = 0, slower = 0;    // the interval lies above 1, holds 1, lies below 1
  int at_least_one = 0, at_least_099 = 0;  // by the ratio itself
  double worst = 0;
  Problem worst_problem;
};

// The library (guard and dispatch included), and the kernels launched by themselves: as they are,
// and without launch overlap, of the shapes of which that was measured.
struct PairSummary {
  RatioSummary library, kernel, plain = {};
};

struct ModeSummary {
  Mode mode = Mode::kDeviceHot;
  PairSummary all;
  std::map<SizeClass, PairSummary> classes;  // those that have shapes
  std::map<int, PairSummary> exponents;      // by SizeExponent
};

// One a mode, as kComparedModes; empty for a table without shapes.
std::vector<ModeSummary> Summarise(const MeasurementTable& table);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_
