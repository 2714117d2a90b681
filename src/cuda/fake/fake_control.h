// How a test steers the fake driver (cuda/fake/fake_state.h says what that is). For test programs
// that are linked with warpsmith::cuda_fake.
#ifndef WARPSMITH_CUDA_FAKE_FAKE_CONTROL_H_
#define WARPSMITH_CUDA_FAKE_FAKE_CONTROL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/context.h"

namespace warpsmith::cuda::fake {

// The fake device's context. Every other use of CUDA in this process sees the fake driver too.
// Aborts when a real driver was opened before.
Context OpenContext();

// Runs whenever a kernel of this name is launched. `arguments` point to the parameters' values.
void DefineKernel(const std::string& name, void (*kernel)(void** arguments));

// Launches since the last call: "gemm grid=2,1,1 block=128,1,1 shared=0 cluster=2,1,1".
std::vector<std::string> TakeLaunches();

// From now on launches do nothing, not even leave a line: what is left is the launcher's own cost.
void IgnoreLaunches(bool ignore);

// How long a launch takes by the fake's clock, from the next one on; 1 ms at first.
void SetLaunchMs(float ms);

// A clock of the host that does not depend on load: a reading takes 1 us, and submitting a product of
// the fake cuBLAS and cuBLASLt takes what they say that it costs.
int64_t HostNs();

// The fake cuBLASLt, for WARPSMITH_CUBLASLT (cuda/lt_product.h): host memory, real products.
const char* CublasLtPath();

}  // namespace warpsmith::cuda::fake

#endif  // WARPSMITH_CUDA_FAKE_FAKE_CONTROL_H_
