// Something that is not a launch plan but can be timed like one: a library's product, for instance.
#ifndef WARPSMITH_CUDA_PLAN_TIMED_CALLABLE_H_
#define WARPSMITH_CUDA_PLAN_TIMED_CALLABLE_H_

#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"

namespace warpsmith::plan {

struct TimedCallable {
  std::string name;
  // Submits one execution on the tensors bound; can be captured in a graph. Everything that costs
  // time once (handles, workspaces, chosen algorithms) was made before. Not thread-safe.
  std::function<Status(const cuda::Stream&, std::span<const Binding>)> enqueue;
};

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_TIMED_CALLABLE_H_
