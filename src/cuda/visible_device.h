// Which device a process sees.
#ifndef WARPSMITH_CUDA_VISIBLE_DEVICE_H_
#define WARPSMITH_CUDA_VISIBLE_DEVICE_H_

#include <string>

namespace warpsmith::cuda {

// Before CUDA is opened: this process and its children see that device alone, as number 0. Others'
// code takes number 0 in every thread that has not chosen. Nothing for an empty `uuid`.
void SeeOnlyDevice(const std::string& uuid);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_VISIBLE_DEVICE_H_
