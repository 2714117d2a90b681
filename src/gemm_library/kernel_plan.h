// A kernel of the pack made ready for one problem: everything but the addresses is settled.
#ifndef WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_
#define WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_

#include <memory>
#include <vector>

#include "base/result.h"
#include "cuda/module.h"
#include "cuda/plan/steps.h"
#include "gemm_library/pack.h"
#include "gemm_library/problem.h"

namespace warpsmith::gemm_library {

class KernelPlan {
 public:
  // Loads nothing: `module` holds the kernel's image, in the current context. kBadInput where the
  // plan is not valid for the problem's sizes, or cannot take its leading dimensions.
  static Result<KernelPlan> Prepare(const PackKernel& kernel, const CheckedProblem& checked,
                                    std::shared_ptr<const cuda::Module> module, int sm_count);

  size_t workspace_bytes() const { return workspace_bytes_; }
  // `addresses` have passed CheckAddresses, hold so much workspace, and are 16-byte aligned.
  // Allocates nothing; thread-safe.
  Status Run(const Addresses& addresses, CUstream_st* stream) const;

 private:
  std::shared_ptr<const cuda::Module> module_;
  plan::Launches launches_;
  std::vector<plan::BoundStep> steps_;
  size_t workspace_bytes_ = 0;
};

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_
