// The judge's kernels as host functions for the fake driver (src/cuda/fake), and candidates that
// run there: so that oracle and runner are tested whole, in two processes, without a GPU.
#ifndef WARPSMITH_JUDGE_FAKE_HOST_KERNELS_H_
#define WARPSMITH_JUDGE_FAKE_HOST_KERNELS_H_

#include <string>

namespace warpsmith::judge::fake {

// The fake driver's "cubin" of the judge's kernels.
std::string KernelImage();
// Opens the fake driver and gives it every kernel below. In the oracle's process and in each
// runner.
void DefineKernels();

// The next so many watches of this process find others' kernels on the device.
void KeepDeviceBusy(int watches);

// A candidate's module: one kernel of this name taking (A, B, C, M, N, K). Names: see the table in
// host_kernels.cc.
std::string CandidateImage(const std::string& kernel);
// One that takes (x, out, R, L): row sums of x (R x L, f32). "row-sum-f64" writes doubles.
std::string RowSumImage(const std::string& kernel);

}  // namespace warpsmith::judge::fake

#endif  // WARPSMITH_JUDGE_FAKE_HOST_KERNELS_H_
