// Packs whose kernels run on the host: what the library chooses and passes shows in the results.
#ifndef WARPSMITH_GEMM_LIBRARY_FAKE_HOST_GEMM_H_
#define WARPSMITH_GEMM_LIBRARY_FAKE_HOST_GEMM_H_

#include <cstdint>
#include <vector>

#include "gemm_library/pack.h"
#include "gemm_library/problem.h"

namespace warpsmith::gemm_library::fake {

// Defines the host's kernels with the fake driver and opens its context for good; sets the fake
// cuBLASLt too. Every test begins with it.
void OpenFakeDevice();

// Of the fake device (sm_90a): 16 x 16 x 16 has kernel "pointers" (dense matrices, by address),
// 32 x 32 x 32 "maps" (tensor maps: any pitch), 64 x 64 x 64 "partials" and "reduce" (a zeroed
// workspace of 4 m n bytes between them), all TN; 128 x 128 x 128 is cuBLASLt's. In BF16 there is
// 16 x 16 x 16 alone, TN: "pointers-bf16".
Pack HostPack();

// A product of small whole numbers, in host memory, which is the fake's device memory too.
class HostProduct {
 public:
  explicit HostProduct(const Problem& problem);

  Addresses addresses() const;
  void UseWorkspace(size_t bytes);
  // Where C differs from what the problem says, counted; elements between its rows count too.
  int64_t Wrong() const;
  void ClearC();
  std::vector<uint16_t>& c() { return c_; }

 private:
  float Expected(int64_t row, int64_t column) const;
  CheckedProblem checked_;
  std::vector<uint16_t> a_, b_, c_;
  std::vector<uint8_t> workspace_;
  size_t workspace_bytes_ = 0;
};

}  // namespace warpsmith::gemm_library::fake

#endif  // WARPSMITH_GEMM_LIBRARY_FAKE_HOST_GEMM_H_
