// From one judged shape's times to its rows of a comparison, and to its raw samples as text.
#ifndef WARPSMITH_TOOLS_COMPARISON_SHAPE_H_
#define WARPSMITH_TOOLS_COMPARISON_SHAPE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "hgemm/comparison_table.h"
#include "sample_frames.h"

namespace warpsmith::cli {

struct MeasuredShape {
  hgemm::ShapeComparison shape;
  std::string samples;  // lines of kSampleColumns
};

// What is known of a shape before it is measured.
struct ShapeTerms {
  hgemm::Problem problem;
  std::string choice;
  double floor_us = 0;
  std::string library_baseline;  // its name: "lib:/..."
  // NVIDIA's other ways that the rounds held beside the bar: baselines' names.
  std::vector<std::string> beside = {};
  // The baseline that is our kernel without launch overlap; kItself: our kernel has none. Empty: it
  // is not measured.
  std::string plain = "";
};
inline constexpr std::string_view kItself = "itself";

// kNothingMeasured where a mode, a contender, or a second round is missing: there is no interval.
Result<MeasuredShape> ShapeOf(const ShapeTerms& terms, const Timing& timing, double confidence);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMPARISON_SHAPE_H_
