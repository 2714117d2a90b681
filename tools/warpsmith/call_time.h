// How long one call of a long command may go on.
#ifndef WARPSMITH_TOOLS_CALL_TIME_H_
#define WARPSMITH_TOOLS_CALL_TIME_H_

#include <limits>

#include "base/clock.h"
#include "base/interrupt.h"
#include "options.h"

namespace warpsmith::cli {

// --max-seconds, from when it is made.
class CallTime {
 public:
  explicit CallTime(const PaceOptions& pace)
      : end_(pace.max_seconds > 0 ? MonotonicSeconds() + pace.max_seconds
                                  : std::numeric_limits<double>::infinity()) {}

  // Seconds; infinite without a limit, below 0 after it.
  double Left() const { return end_ - MonotonicSeconds(); }
  bool IsLate() const { return Left() < 0; }
  // Late, or Ctrl-C was pressed.
  bool IsOver() const { return Interrupted() || IsLate(); }

 private:
  double end_;
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_CALL_TIME_H_
