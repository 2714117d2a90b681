// How a run stands, for a terminal.
#ifndef WARPSMITH_SEARCH_PROGRESS_H_
#define WARPSMITH_SEARCH_PROGRESS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/protocol.h"
#include "core/step.h"

namespace warpsmith::search {

struct Progress {
  std::string run;
  int64_t evaluations = 0;
  int64_t evaluation_limit = 0;      // 0: none
  std::optional<double> best_ratio;  // to the bar, in the run's first mode
  std::string best;                  // the best candidate's point, or its technique, or its id
  std::map<std::string, int64_t, std::less<>> outcomes;  // outcome name -> steps
  Cost spent;
  double elapsed_seconds = 0;  // of this call
  std::optional<double> seconds_left;
};

// Folds steps into a Progress. Steps that were only replayed don't count for the time estimate.
class ProgressTracker {
 public:
  ProgressTracker(std::string run, Mode mode, const Budget& budget, double max_seconds);

  enum class Origin { kReplayed, kNew };
  void Add(const Step& step, Origin origin, double elapsed_seconds);
  const Progress& progress() const { return progress_; }

 private:
  std::optional<double> SecondsLeft() const;

  Mode mode_;
  Budget budget_;
  double max_seconds_;
  int64_t new_steps_ = 0;
  Progress progress_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_PROGRESS_H_
