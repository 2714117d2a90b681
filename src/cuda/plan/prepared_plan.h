// Carries out a ResolvedPlan: what the judge times, captures and audits, and what the tuner ships.
//
//   prepared = PreparedPlan::Prepare(plan, module)     once: attributes, workspaces, tables
//   bound    = prepared.Bind({{"A", a, bytes}, ...})   once per set of addresses: arguments, maps
//   bound.Execute(stream)                              as often as wanted; can be captured
#ifndef WARPSMITH_CUDA_PLAN_PREPARED_PLAN_H_
#define WARPSMITH_CUDA_PLAN_PREPARED_PLAN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/resolved_plan.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"

namespace warpsmith::plan {

// Where a tensor of the task lies for one execution.
struct Binding {
  std::string tensor;
  cuda::DevicePointer address = 0;
  int64_t bytes = 0;
};

struct PlanState;
struct BoundStep;

// A plan with every address filled in. Values are copied into the driver at each Execute, so a
// BoundPlan may die before the work is done. Movable; not thread-safe.
class BoundPlan {
 public:
  // Submits every operation in order; the host's part is under 2 us a launch. A refused call names
  // the operation: "operations[1]: cuLaunchKernelEx: ...".
  Status Execute(const cuda::Stream& stream) const;

  BoundPlan(BoundPlan&&) noexcept;
  BoundPlan& operator=(BoundPlan&&) noexcept;
  ~BoundPlan();

 private:
  friend class PreparedPlan;
  BoundPlan(std::shared_ptr<const PlanState> state, std::vector<BoundStep> steps);
  std::shared_ptr<const PlanState> state_;
  std::vector<BoundStep> steps_;
};

// A plan's kernels, workspaces and tables on the device of the current context. Copies share them.
class PreparedPlan {
 public:
  // Loads nothing by itself: `module` holds the artifact's image. kBadInput, naming operation and
  // field, where a kernel is missing or its compiled parameters differ from the plan's arguments in
  // number or size; CUDA's own refusals (shared memory, cluster) come as cuda::Failure.
  static Result<PreparedPlan> Prepare(ResolvedPlan plan,
                                      std::shared_ptr<const cuda::Module> module);

  // kBadInput when a tensor that the plan uses is missing or smaller than an operation needs.
  Result<BoundPlan> Bind(std::span<const Binding> bindings) const;
  // Bind, then Execute once.
  Status Execute(const cuda::Stream& stream, std::span<const Binding> bindings) const;

  // A workspace with `zero` is zeroed by every Execute, as a charged memset. The others are left as
  // they are; the judge poisons them between batches, so that nothing is carried over.
  Status PoisonWorkspaces(uint8_t value, const cuda::Stream& stream) const;
  int64_t workspace_bytes() const;

 private:
  explicit PreparedPlan(std::shared_ptr<const PlanState> state);
  std::shared_ptr<const PlanState> state_;
};

// Answers Resolve()'s question about a launch of this module on the current device: clusters that
// are resident at once, or CTAs where the cluster is 1 x 1 x 1. `module` must outlive the function.
ClusterOccupancy OccupancyOf(const cuda::Module& module, int sm_count);

// --- Something that is not a launch plan but can be timed like one: a library's product, for
// instance.

struct TimedCallable {
  std::string name;
  // Submits one execution on the tensors bound; can be captured in a graph. Everything that costs
  // time once (handles, workspaces, chosen algorithms) was made before. Not thread-safe.
  std::function<Status(const cuda::Stream&, std::span<const Binding>)> enqueue;
};

}  // namespace warpsmith::plan

#endif  // WARPSMITH_CUDA_PLAN_PREPARED_PLAN_H_
