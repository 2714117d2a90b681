// Holds a run to its budget: what has been spent, what a step cost, and whether one more fits.
#ifndef WARPSMITH_SEARCH_SPENDING_H_
#define WARPSMITH_SEARCH_SPENDING_H_

#include <optional>
#include <string>

#include "core/step.h"

namespace warpsmith::search {

// Whether a step may start or be committed is answered from the committed steps alone, so that a
// run that was interrupted stops at the same step as one that was not. (Limits on wall time
// excepted.) Every second since this was made, and whatever is charged, is part of one step's cost:
// of the next one that is committed.
class Spending {
 public:
  explicit Spending(const Budget& budget);

  const Budget& budget() const { return budget_; }

  // A step that was committed before, or elsewhere.
  void Add(const Cost& cost) { spent_ = spent_ + cost; }
  // A step that was committed elsewhere just now: its wall time is no part of the next step's cost.
  void AddElsewhere(const Cost& cost);
  // GPU time that was spent without being a step.
  void Charge(double gpu_seconds) { pending_gpu_seconds_ += gpu_seconds; }

  // What a step costs that ends now: `thought` (tokens and money), its evaluation and time.
  Cost OfStep(const Cost& thought, double gpu_seconds) const;
  // Counts a step that has just been committed at the cost that OfStep told.
  void Commit(const Cost& cost);

  // By committed steps.
  const Cost& spent() const { return spent_; }
  // With what the next step will be charged.
  Cost SpentByNow() const;
  // The limit that leaves no room for another step by now, if there is one.
  std::optional<std::string> Exhausted() const;

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
  double pending_gpu_seconds_ = 0;
  double accounted_at_;  // until when wall time is part of a committed step's cost
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_SPENDING_H_
