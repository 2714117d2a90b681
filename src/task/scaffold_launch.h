// How a file launches a kernel, in the kernel's own names. Private to this folder.
#ifndef WARPSMITH_TASK_SCAFFOLD_LAUNCH_H_
#define WARPSMITH_TASK_SCAFFOLD_LAUNCH_H_

#include <string>
#include <vector>

#include "task/cuda_scan.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {

struct LaunchConstant {
  std::string value;   // "1024", "-0.5"; empty: it is no constant
  bool small = false;  // a whole number below 32, written in the launch itself
};
// What the kernel's first launch gives each parameter.
std::vector<LaunchConstant> ConstantArguments(const CudaFile& file, const CudaFunction& kernel);

// Grid, block and shared bytes of the first launch that is whole arithmetic over the guess's sizes.
// Where there is none, guess.launched_by stays empty.
void CopyLaunch(const CudaFile& file, Guess& guess);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_SCAFFOLD_LAUNCH_H_
