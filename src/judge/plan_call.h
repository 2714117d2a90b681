// A launch plan called as a user of it would: bound to its tensors and submitted by each call.
#ifndef WARPSMITH_JUDGE_PLAN_CALL_H_
#define WARPSMITH_JUDGE_PLAN_CALL_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/launch_plan.h"
#include "core/task.h"
#include "cuda/context.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"

namespace warpsmith::judge {

class PlanCall {
 public:
  // `image` is the artifact's cubin; the context is current. kBadInput as of PreparedPlan.
  static Result<PlanCall> Prepare(const LaunchPlan& plan, std::string_view image, const Task& task,
                                  const Workload& workload, const cuda::Context& context);

  // Submits one execution; `bindings` are the task's tensors. Not waited for.
  Status operator()(const std::vector<plan::Binding>& bindings) const {
    return plan_.Execute(stream_, bindings);
  }

 private:
  PlanCall(plan::PreparedPlan plan, cuda::Stream stream)
      : plan_(std::move(plan)), stream_(std::move(stream)) {}

  plan::PreparedPlan plan_;
  cuda::Stream stream_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PLAN_CALL_H_
