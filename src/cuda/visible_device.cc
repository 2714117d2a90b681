#include "cuda/visible_device.h"

#include <cstdlib>

namespace warpsmith::cuda {

void SeeOnlyDevice(const std::string& uuid) {
  if (!uuid.empty()) setenv("CUDA_VISIBLE_DEVICES", uuid.c_str(), 1);
}

}  // namespace warpsmith::cuda
