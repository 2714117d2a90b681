// From one judged shape's times to what a table holds of it, and to its raw samples as text.
#ifndef WARPSMITH_HGEMM_BENCH_SHAPES_H_
#define WARPSMITH_HGEMM_BENCH_SHAPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "hgemm/bench/measurement_file.h"
#include "store/recorded_device.h"

namespace warpsmith::hgemm {

// What is known of a compared shape before it is measured.
struct ShapeTerms {
  Problem problem;
  std::string choice;
  double roofline_us = 0;
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

// The libraries' times in one mode, without the twins that show the noise.
std::vector<LibraryTime> LibraryTimesOf(const ModeTiming& mode);

// All of NVIDIA's ways. With `ours` the kernel that they were measured beside, too, and each
// library's time over its.
MeasuredShape LibrariesOf(const Problem& problem, const Timing& timing, bool ours);

// A recording keeps no samples of them: one line stands for each time. kNothingMeasured: there are
// none.
Result<MeasuredShape> RecordedLibraries(const store::RecordedDevice& recorded,
                                        const Problem& problem, const std::string& space);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_SHAPES_H_
