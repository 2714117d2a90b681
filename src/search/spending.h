// Holds a run to its budget: what has been spent, and whether one more step fits.
#ifndef WARPSMITH_SEARCH_SPENDING_H_
#define WARPSMITH_SEARCH_SPENDING_H_

#include <optional>
#include <string>

#include "core/step.h"

namespace warpsmith::search {

// Both questions are answered from the committed steps alone, so that a run that was interrupted
// stops at the same step as one that was not. (Limits on wall time excepted.)
class Spending {
 public:
  explicit Spending(const Budget& budget) : budget_(budget) {}

  void Add(const Cost& cost);
  const Cost& spent() const { return spent_; }

  // The limit that one more step, on top of `started` ones that have not been committed, is
  // expected to pass. Steps are expected to cost what they did so far; before anything is known,
  // only one is started at a time.
  std::optional<std::string> StopsStart(int started) const;

  // The limit that keeps a step of this cost from being committed. A step that would not have been
  // started is not committed, whenever it was started, unless it came for free.
  std::optional<std::string> StopsCommit(const Cost& cost) const;

 private:
  Cost Expected(int steps) const;

  Budget budget_;
  Cost spent_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_SPENDING_H_
