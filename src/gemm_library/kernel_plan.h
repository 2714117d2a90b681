// A kernel of the pack made ready for one problem: everything but the addresses is settled.
#ifndef WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_
#define WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/resolved_plan.h"
#include "cuda/guest.h"
#include "cuda/module.h"
#include "cuda/tensor_map.h"
#include "gemm_library/pack.h"
#include "gemm_library/problem.h"

namespace warpsmith::gemm_library {

// What a step is given at each call: one of the caller's addresses, plus an offset.
enum class Base : uint8_t { kA, kB, kC, kWorkspace };
struct Place {
  Base base = Base::kA;
  uint64_t offset_bytes = 0;
};

// A kernel parameter's value, aligned as the widest one (a tensor map) must be.
struct alignas(64) Slot {
  std::byte bytes[sizeof(cuda::TensorMap)];
};

// A parameter that holds an address: as a pointer, or inside a tensor map.
struct Patch {
  size_t slot = 0;
  bool in_map = false;
  Place place;
};

struct LaunchStep {
  cuda::FixedLaunch launch;
  std::vector<Slot> slots;
  std::vector<Patch> patches;
};
struct FillStep {
  Place place;
  uint8_t value = 0;
  size_t bytes = 0;
};

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
  using Step = std::variant<LaunchStep, FillStep>;
  std::shared_ptr<const cuda::Module> module_;
  std::vector<Step> steps_;
  size_t workspace_bytes_ = 0;

  friend class KernelPlanMaker;
};

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_KERNEL_PLAN_H_
