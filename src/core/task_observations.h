// What was seen of a task on a device, as numbers: what `task check` judges (src/task/check.h). The
// reference runs on several drawings of the inputs; no candidate is involved.
#ifndef WARPSMITH_CORE_TASK_OBSERVATIONS_H_
#define WARPSMITH_CORE_TASK_OBSERVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace warpsmith {

// One expected output, over all drawings. Values are those of the reference, in FP64 where it gives
// them so. A fraction is the worst |difference| / bound over the elements, where the bound is the
// task's tolerance: above 1 it is beyond it. Negative: not looked at.
struct OutputObservation {
  std::string tensor;
  int64_t elements = 0;   // of one drawing
  int64_t nonfinite = 0;  // NaN and infinite ones, of all drawings
  double smallest = 0, largest = 0;
  double deviation = 0;            // standard deviation of the elements
  double typical_bound = 0;        // median of the elements' bounds
  bool input_independent = false;  // bit for bit the same for all drawings
  double repeat_fraction = -1;     // the reference twice on the same inputs
  double precision_fraction = -1;  // computed in the task's own types, against FP64
};

struct TaskObservations {
  std::string workload;
  int drawings = 0;  // of the inputs: 2 or more tell whether the outputs depend on them
  std::string reference_failure;  // one line; empty: it ran
  std::vector<OutputObservation> outputs;
  std::vector<std::string> trivial_answers;  // that pass: "zeros", "a constant", "a copy of x"
  double roofline_us = 0, baseline_us = 0;   // baseline: the fastest of the task's; 0: not timed
  int64_t needed_bytes = 0, available_bytes = 0;  // device memory; 0: not looked at
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_TASK_OBSERVATIONS_H_
