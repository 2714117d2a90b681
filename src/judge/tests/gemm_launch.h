// A product's launch, for tests.
#ifndef WARPSMITH_JUDGE_TESTS_GEMM_LAUNCH_H_
#define WARPSMITH_JUDGE_TESTS_GEMM_LAUNCH_H_

#include <string>

#include "core/launch_plan.h"

namespace warpsmith::judge {

// kernel(A, B, C, M, N, K) in one block of one thread.
inline LaunchOperation GemmLaunch(const std::string& kernel) {
  const Expression one = Expression::Constant(1);
  LaunchOperation launch;
  launch.kernel = kernel;
  launch.grid = launch.block = launch.cluster = {one, one, one};
  launch.arguments = {TensorArgument{"A"}, TensorArgument{"B"}, TensorArgument{"C"}};
  for (const char* size : {"M", "N", "K"}) {
    launch.arguments.emplace_back(IntArgument{Expression::Literal(size)});
  }
  return launch;
}

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TESTS_GEMM_LAUNCH_H_
