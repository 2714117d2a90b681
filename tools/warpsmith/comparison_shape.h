// From one judged shape's times to its rows of a comparison, and to its raw samples as text.
#ifndef WARPSMITH_TOOLS_COMPARISON_SHAPE_H_
#define WARPSMITH_TOOLS_COMPARISON_SHAPE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/verdict.h"
#include "hgemm/comparison_table.h"
#include "util/result.h"

namespace warpsmith::cli {

// A line a batch: which contender ("kernel", "ours", "lt_auto", a baseline's name), when, how long
// a call took, and the clock, temperature and power that were read with it (0: not read).
inline constexpr std::string_view kSampleColumns =
    "m,n,k,mode,contender,process,round,us,sm_mhz,temperature_c,power_w\n";

// One contender's, of the shape m, n, k.
std::string SampleLines(const std::array<int64_t, 3>& shape, Mode mode, std::string_view contender,
                        const ContenderTiming& timing);

struct MeasuredShape {
  hgemm::ShapeComparison shape;
  std::string samples;  // lines of kSampleColumns
};

// What is known of a shape before it is measured.
struct ShapeTerms {
  hgemm::Problem problem;
  std::string choice;
  double floor_us = 0;
  std::string library;  // the baseline's name: "lib:/..."
};

// kNothingMeasured where a mode, a contender, or a second round is missing: there is no interval.
Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARISON_SHAPE_H_
