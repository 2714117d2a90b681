#include "judge/task_observing.h"

#include "judge/roofline.h"

namespace warpsmith::judge {

Result<TaskObservations> ObserveTask(judge::LocalDevice& device, const Task& task,
                                     const Workload& workload) {
  TaskObservations seen;
  seen.workload = workload.name;
  seen.drawings = 1;
  seen.roofline_us = TRY(judge::RooflineUs(device.Info(), task, workload, Mode::kDeviceHot));
  const auto answer = device.DegenerateAnswer(task, workload);
  if (answer.ok()) {
    if (answer.value()) seen.trivial_answers.push_back(*answer.value());
  } else if (answer.error().code == ErrorCode::kBadInput) {
    seen.reference_failure = answer.error().Line();
  } else {
    return answer.error();
  }
  return seen;
}

}  // namespace warpsmith::judge
