// Something that is not a launch plan but can be timed like one: a library's product, for instance.
#ifndef WARPSMITH_LAUNCH_TIMED_CALLABLE_H_
#define WARPSMITH_LAUNCH_TIMED_CALLABLE_H_

#include <functional>
#include <span>
#include <string>

#include "cuda/stream.h"
#include "launch/prepared_plan.h"
#include "util/result.h"

namespace warpsmith::launch {

struct TimedCallable {
  std::string name;
  // Submits one execution on the tensors bound; can be captured in a graph. Everything that costs
  // time once (handles, workspaces, chosen algorithms) was made before. Not thread-safe.
  std::function<Status(const cuda::Stream&, std::span<const Binding>)> enqueue;
};

}  // namespace warpsmith::launch

#endif  // WARPSMITH_LAUNCH_TIMED_CALLABLE_H_
