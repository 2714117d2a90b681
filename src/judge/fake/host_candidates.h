// Candidates on host memory: honest ones, and each cheat that the judge must name.
#ifndef WARPSMITH_JUDGE_FAKE_HOST_CANDIDATES_H_
#define WARPSMITH_JUDGE_FAKE_HOST_CANDIDATES_H_

#include <cstdint>
#include <span>

namespace warpsmith::judge::fake {

template <typename T>
T Argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

template <typename T>
T* At(uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct HostKernel {
  const char* name;
  void (*run)(void** arguments);
};

// Says whether inputs are being written late, in front of the launch at work, and forgets it.
bool TakeLateInputs();
void WriteInputsLate();

// Products (A, B, C, M, N, K; FP16, or BF16 where the name ends so) and sums of rows.
std::span<const HostKernel> HostCandidates();

}  // namespace warpsmith::judge::fake

#endif  // WARPSMITH_JUDGE_FAKE_HOST_CANDIDATES_H_
