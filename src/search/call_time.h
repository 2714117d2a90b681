// How long one call of a long command may go on.
#ifndef WARPSMITH_SEARCH_CALL_TIME_H_
#define WARPSMITH_SEARCH_CALL_TIME_H_

#include <limits>
#include <string>

#include "base/clock.h"
#include "base/interrupt.h"

namespace warpsmith::search {

// What every command is told.
struct CommonOptions {
  bool json = false;    // exactly one JSON document on stdout, also for errors
  bool quiet = false;   // no progress
  std::string command;  // what the user wrote, for the files that are made (core/device.h)
};

// Limits of one call of a long command. Stopping at one keeps everything; --resume goes on.
struct PaceOptions {
  double max_seconds = 0;     // 0: no limit
  std::string slice = "1/1";  // i/n: the i-th of n equal parts of the work
};

// PaceOptions::max_seconds, from when it is made.
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

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_CALL_TIME_H_
