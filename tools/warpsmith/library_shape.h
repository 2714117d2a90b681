// One shape's times of the libraries, out of a verdict or a recording, and their raw samples.
#ifndef WARPSMITH_TOOLS_LIBRARY_SHAPE_H_
#define WARPSMITH_TOOLS_LIBRARY_SHAPE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "baselines.h"
#include "hgemm/library_times.h"
#include "sample_frames.h"
#include "store/recorded_device.h"

namespace warpsmith::cli {

struct MeasuredLibraries {
  hgemm::LibraryTimes times;
  std::string samples;
  std::string library;                        // cuBLASLt's version
  std::vector<hgemm::BesideBar> faster = {};  // what was shown to be faster than the bar
};

// With `ours` the kernel that they were measured beside, too, and each library's time over its.
MeasuredLibraries LibrariesOf(const Sizes& shape, const BesideLibraries& beside, bool ours);

// A recording keeps no samples of them: one line stands for each time. kNothingMeasured: there are
// none.
Result<MeasuredLibraries> RecordedLibraries(const store::RecordedDevice& recorded,
                                            const Sizes& shape, const std::string& space);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_LIBRARY_SHAPE_H_
