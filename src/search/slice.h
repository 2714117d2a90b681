// A part of a list, so that several processes or batch jobs can share work by index.
#ifndef WARPSMITH_SEARCH_SLICE_H_
#define WARPSMITH_SEARCH_SLICE_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::search {

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

#endif  // WARPSMITH_SEARCH_SLICE_H_
