#include "gemm_library/kernel_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "core/task.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/plan/tensor_map_spec.h"

namespace warpsmith::gemm_library {
namespace {

// The task whose tensors a plan speaks of, of dense matrices.
Task TaskOf(const PackKernel& kernel) {
  const auto size = [](const char* name) { return Expression::Literal(name); };
  const bool row_major_b = kernel.layout == hgemm::Layout::kNN;
  Task task;
  task.tensors = {{"A", kernel.dtype, Role::kInput, {size("M"), size("K")}},
                  {"B",
                   kernel.dtype,
                   Role::kInput,
                   {size(row_major_b ? "K" : "N"), size(row_major_b ? "N" : "K")}},
                  {"C", kernel.dtype, Role::kOutput, {size("M"), size("N")}}};
  return task;
}

Error Within(size_t operation, Error error) {
  error.message = "operations[" + std::to_string(operation) + "]: " + error.message;
  return error;
}

size_t ParameterBytes(const ResolvedArgument& argument) {
  if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) {
    return static_cast<size_t>(scalar->bytes);
  }
  return std::holds_alternative<ResolvedTensorMap>(argument) ? sizeof(cuda::TensorMap)
                                                             : sizeof(cuda::DevicePointer);
}

// A launch that passes fewer or smaller values than the kernel reads would read our memory.
Status CheckParameters(const ResolvedLaunch& launch, const cuda::Function& function) {
  const std::vector<cuda::Parameter> parameters = TRY(cuda::Parameters(function));
  bool same = parameters.size() == launch.arguments.size() && parameters.size() <= kMostArguments;
  for (size_t i = 0; same && i < parameters.size(); ++i) {
    same = parameters[i].bytes == ParameterBytes(launch.arguments[i]);
  }
  if (same) return {};
  return Error{ErrorCode::kBadInput,
               "kernel '" + launch.kernel + "' takes other parameters than its plan passes",
               "the pack is damaged: make it again with 'warpsmith hgemm build'"};
}

// The map describes the matrix row by row, as it is, so that another pitch is another stride.
bool IsWholeMatrix(const ResolvedTensorMap& map, const Storage& storage) {
  return map.dims.size() == 2 && map.dims[0] == static_cast<uint64_t>(storage.columns) &&
         map.dims[1] == static_cast<uint64_t>(storage.rows) &&
         map.strides_bytes[0] == 2 * static_cast<uint64_t>(storage.columns);
}

}  // namespace

// Makes the steps of one plan, one after the other.
class KernelPlanMaker {
 public:
  KernelPlanMaker(const CheckedProblem& checked, const ResolvedPlan& plan, KernelPlan* made)
      : checked_(checked), plan_(plan), made_(made) {}

  Status Make() {
    LayOutWorkspaces();
    for (size_t i = 0; i < plan_.operations.size(); ++i) {
      const Status added =
          std::visit([this](const auto& op) { return Add(op); }, plan_.operations[i]);
      if (!added.ok()) return Within(i, added.error());
    }
    return {};
  }

 private:
  // One after the other in the caller's workspace; those to be zeroed are, first of all.
  void LayOutWorkspaces() {
    uint64_t end = 0;
    for (const ResolvedWorkspace& workspace : plan_.workspaces) {
      const Place place{Base::kWorkspace, end};
      places_[workspace.name] = place;
      const auto bytes = static_cast<uint64_t>(workspace.bytes);
      if (workspace.zero) made_->steps_.emplace_back(FillStep{place, 0, bytes});
      end += (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    }
    made_->workspace_bytes_ = end;
  }

  Place PlaceOf(const std::string& name) const {
    if (name == "A") return {Base::kA, 0};
    if (name == "B") return {Base::kB, 0};
    if (name == "C") return {Base::kC, 0};
    return places_.at(name);  // Resolve knows all names
  }

  // kBadInput for a matrix that is not dense, where the plan takes it by its address.
  Status NeedsDense(const std::string& name) const {
    const Place place = PlaceOf(name);
    if (place.base == Base::kWorkspace ||
        checked_.storage[static_cast<size_t>(place.base)].dense()) {
      return {};
    }
    return Error{ErrorCode::kBadInput, "this kernel takes " + name + " dense only", ""};
  }

  Status Add(const ResolvedMemset& memset) {
    TRY(NeedsDense(memset.target));
    made_->steps_.emplace_back(
        FillStep{PlaceOf(memset.target), memset.value, static_cast<size_t>(memset.bytes)});
    return {};
  }
  Status Add(const ResolvedCopy& /*copy*/) { return NotCarriedOut(); }
  Status Add(const ResolvedPad& /*pad*/) { return NotCarriedOut(); }
  static Status NotCarriedOut() {
    return Error{ErrorCode::kBadInput, "the library carries out launches and fills only", ""};
  }

  Status Add(const ResolvedLaunch& launch) {
    const cuda::Function function = TRY(made_->module_->Kernel(launch.kernel));
    TRY(CheckParameters(launch, function));
    TRY(cuda::RaiseMaxDynamicShared(function, launch.shared_bytes));
    if (launch.nonportable_cluster) TRY(cuda::AllowNonPortableCluster(function));
    cuda::LaunchConfig config;
    config.grid = launch.grid;
    config.block = launch.block;
    config.cluster = launch.cluster;
    config.shared_bytes = launch.shared_bytes;
    config.cooperative = launch.cooperative;
    config.programmatic = launch.programmatic;
    LaunchStep step{cuda::FixedLaunch(function, config), {}, {}};
    step.slots.resize(launch.arguments.size());
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      TRY(std::visit([&](const auto& argument) { return Fill(argument, i, &step); },
                     launch.arguments[i]));
    }
    made_->steps_.emplace_back(std::move(step));
    return {};
  }

  Status Fill(const TensorArgument& argument, size_t slot, LaunchStep* step) const {
    TRY(NeedsDense(argument.tensor));
    step->patches.push_back({slot, false, PlaceOf(argument.tensor)});
    return {};
  }
  Status Fill(const WorkspaceArgument& argument, size_t slot, LaunchStep* step) const {
    step->patches.push_back({slot, false, PlaceOf(argument.workspace)});
    return {};
  }
  Status Fill(const ResolvedScalar& scalar, size_t slot, LaunchStep* step) const {
    std::memcpy(step->slots[slot].bytes, scalar.bits.data(), scalar.bits.size());
    return {};
  }
  Status Fill(const TableArgument& /*table*/, size_t /*slot*/, LaunchStep* /*step*/) const {
    return NotCarriedOut();
  }
  Status Fill(const ResolvedTensorMap& map, size_t slot, LaunchStep* step) const {
    const Place place = PlaceOf(map.tensor);
    cuda::TensorMapSpec spec = plan::SpecOf(map);
    if (place.base != Base::kWorkspace) {
      const Storage& storage = checked_.storage[static_cast<size_t>(place.base)];
      if (!storage.dense() && !IsWholeMatrix(map, storage)) TRY(NeedsDense(map.tensor));
      if (!storage.dense()) spec.strides_bytes[0] = 2 * static_cast<uint64_t>(storage.leading);
    }
    // Any aligned address will do until there is one.
    constexpr cuda::DevicePointer kSomewhere = 4096;
    const cuda::TensorMap encoded = TRY(cuda::EncodeTensorMap(kSomewhere, spec));
    std::memcpy(step->slots[slot].bytes, &encoded, sizeof(encoded));
    step->patches.push_back({slot, true, place});
    return {};
  }

  const CheckedProblem& checked_;
  const ResolvedPlan& plan_;
  KernelPlan* made_;
  std::map<std::string, Place, std::less<>> places_;
};

Result<KernelPlan> KernelPlan::Prepare(const PackKernel& kernel, const CheckedProblem& checked,
                                       std::shared_ptr<const cuda::Module> module, int sm_count) {
  const Problem& problem = checked.problem;
  const Sizes sizes = {{"M", problem.m}, {"N", problem.n}, {"K", problem.k}};
  const ResolvedPlan resolved = TRY(
      Resolve(kernel.plan, TaskOf(kernel), sizes, sm_count, plan::OccupancyOf(*module, sm_count)));
  KernelPlan made;
  made.module_ = std::move(module);
  TRY(KernelPlanMaker(checked, resolved, &made).Make());
  return made;
}

namespace {

uint64_t AddressOf(const Addresses& addresses, const Place& place) {
  switch (place.base) {
    case Base::kA:
      return addresses.a;
    case Base::kB:
      return addresses.b;
    case Base::kC:
      return addresses.c;
    case Base::kWorkspace:
      break;
  }
  return addresses.workspace + place.offset_bytes;
}

Status RunStep(const FillStep& step, const Addresses& addresses, CUstream_st* stream) {
  return cuda::FillAsync(AddressOf(addresses, step.place), step.value, step.bytes, stream);
}

Status RunStep(const LaunchStep& step, const Addresses& addresses, CUstream_st* stream) {
  std::array<Slot, kMostArguments> slots;  // NOLINT(*-member-init): filled as far as it is used
  std::array<void*, kMostArguments> arguments;  // NOLINT(*-member-init)
  std::memcpy(slots.data(), step.slots.data(), step.slots.size() * sizeof(Slot));
  for (size_t i = 0; i < step.slots.size(); ++i) arguments[i] = slots[i].bytes;
  for (const Patch& patch : step.patches) {
    const uint64_t address = AddressOf(addresses, patch.place);
    Slot& slot = slots[patch.slot];
    if (patch.in_map) {
      TRY(cuda::ReplaceAddress(reinterpret_cast<cuda::TensorMap*>(slot.bytes), address));
    } else {
      std::memcpy(slot.bytes, &address, sizeof(address));
    }
  }
  return step.launch.Submit(stream, arguments.data());
}

}  // namespace

Status KernelPlan::Run(const Addresses& addresses, CUstream_st* stream) const {
  for (const Step& step : steps_) {
    TRY(std::visit([&](const auto& one) { return RunStep(one, addresses, stream); }, step));
  }
  return {};
}

}  // namespace warpsmith::gemm_library
