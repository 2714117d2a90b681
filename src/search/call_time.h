// How long one call of a long command may go on, and which part of the work is its own.
#ifndef WARPSMITH_SEARCH_CALL_TIME_H_
#define WARPSMITH_SEARCH_CALL_TIME_H_

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/result.h"

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

// --- A part of a list, so that several processes or batch jobs can share work by index.

// The i-th of n parts, i from 1. Item j (from 0) is in part j % n + 1, so that the parts of a list
// that is sorted by size take about as long. The parts are disjoint and together the whole list.
struct Slice {
  int index = 1, count = 1;
};

Result<Slice> ParseSlice(std::string_view text);  // "2/4"

inline bool InSlice(const Slice& slice, size_t item) {
  return item % static_cast<size_t>(slice.count) == static_cast<size_t>(slice.index - 1);
}

template <typename T>
std::vector<T> TakeSlice(const Slice& slice, const std::vector<T>& items) {
  std::vector<T> taken;
  for (size_t i = 0; i < items.size(); ++i) {
    if (InSlice(slice, i)) taken.push_back(items[i]);
  }
  return taken;
}

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_CALL_TIME_H_
