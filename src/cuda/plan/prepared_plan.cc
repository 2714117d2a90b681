#include "cuda/plan/prepared_plan.h"

#include <cstring>
#include <utility>

#include "cuda/plan/bound_step.h"
#include "cuda/plan/plan_state.h"

namespace warpsmith::plan {
namespace {

constexpr size_t kTableAlignment = 256;

// Bytes of the kernel parameter that an argument fills.
size_t ParameterBytes(const ResolvedArgument& argument) {
  if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) {
    return static_cast<size_t>(scalar->bytes);
  }
  if (std::holds_alternative<ResolvedTensorMap>(argument)) return sizeof(cuda::TensorMap);
  return sizeof(cuda::DevicePointer);
}

// A launch that passes fewer or smaller values than the kernel reads would read our memory.
Status CheckParameters(size_t operation, const ResolvedLaunch& launch,
                       const cuda::Function& function) {
  const std::vector<cuda::Parameter> parameters = TRY(cuda::Parameters(function));
  if (parameters.size() != launch.arguments.size()) {
    return Error{ErrorCode::kBadInput,
                 OperationText(operation) + ".arguments: kernel '" + launch.kernel + "' takes " +
                     std::to_string(parameters.size()) + " parameters, found " +
                     std::to_string(launch.arguments.size()),
                 "make the plan's arguments match the kernel's declaration"};
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const size_t given = ParameterBytes(launch.arguments[i]);
    if (parameters[i].bytes == given) continue;
    return Error{ErrorCode::kBadInput,
                 ArgumentText(operation, i) + ": kernel '" + launch.kernel + "' takes " +
                     std::to_string(parameters[i].bytes) + " bytes there, found " +
                     std::to_string(given),
                 "make the plan's arguments match the kernel's declaration"};
  }
  return {};
}

Status PrepareLaunch(size_t operation, const ResolvedLaunch& launch, PlanState* state) {
  auto function = state->module->Kernel(launch.kernel);
  if (!function.ok()) return Within(OperationText(operation) + ".kernel", function.error());
  TRY(CheckParameters(operation, launch, *function));
  const Status set = SetAttributes(*function, launch);
  if (!set.ok()) return Within(OperationText(operation), set.error());
  state->functions[operation] = *std::move(function);
  state->configs[operation] = ConfigOf(launch);
  return {};
}

Status PrepareLaunches(PlanState* state) {
  state->functions.resize(state->plan.operations.size());
  state->configs.resize(state->plan.operations.size());
  for (size_t i = 0; i < state->plan.operations.size(); ++i) {
    if (const auto* launch = std::get_if<ResolvedLaunch>(&state->plan.operations[i])) {
      TRY(PrepareLaunch(i, *launch, state));
    }
  }
  return {};
}

Status AllocateWorkspaces(PlanState* state) {
  for (const ResolvedWorkspace& workspace : state->plan.workspaces) {
    auto buffer = cuda::DeviceBuffer::Allocate(static_cast<size_t>(workspace.bytes));
    if (!buffer.ok()) return Within("workspace '" + workspace.name + "'", buffer.error());
    state->workspaces.push_back(std::move(buffer).value());
  }
  return {};
}

// Lays all tables out in one image; offsets become addresses once it is uploaded.
Status UploadTables(PlanState* state) {
  std::string image;
  for (size_t i = 0; i < state->plan.operations.size(); ++i) {
    const auto* launch = std::get_if<ResolvedLaunch>(&state->plan.operations[i]);
    if (launch == nullptr) continue;
    for (size_t j = 0; j < launch->arguments.size(); ++j) {
      const auto* table = std::get_if<TableArgument>(&launch->arguments[j]);
      if (table == nullptr) continue;
      state->table_of[{i, j}] = image.size();
      image.append(reinterpret_cast<const char*>(table->values.data()),
                   table->values.size() * sizeof(int32_t));
      image.resize((image.size() + kTableAlignment - 1) / kTableAlignment * kTableAlignment);
    }
  }
  state->tables = TRY(cuda::DeviceBuffer::Allocate(image.size()));
  for (auto& [place, address] : state->table_of) address += state->tables.address();
  return cuda::CopyToDevice(state->tables.address(), image.data(), image.size());
}

}  // namespace

PreparedPlan::PreparedPlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}

Result<PreparedPlan> PreparedPlan::Prepare(ResolvedPlan plan,
                                           std::shared_ptr<const cuda::Module> module) {
  auto state = std::make_shared<PlanState>();
  state->plan = std::move(plan);
  state->module = std::move(module);
  TRY(PrepareLaunches(state.get()));
  TRY(AllocateWorkspaces(state.get()));
  TRY(UploadTables(state.get()));
  return PreparedPlan(std::move(state));
}

Result<BoundPlan> PreparedPlan::Bind(std::span<const Binding> bindings) const {
  return BoundPlan(state_, TRY(BindSteps(*state_, bindings)));
}

Status PreparedPlan::Execute(const cuda::Stream& stream, std::span<const Binding> bindings) const {
  const BoundPlan bound = TRY(Bind(bindings));
  return bound.Execute(stream);
}

const ResolvedPlan& PreparedPlan::plan() const { return state_->plan; }

Status PreparedPlan::PoisonWorkspaces(uint8_t value, const cuda::Stream& stream) const {
  for (const cuda::DeviceBuffer& workspace : state_->workspaces) {
    TRY(cuda::FillAsync(workspace.address(), value, workspace.bytes(), stream));
  }
  return {};
}

int64_t PreparedPlan::workspace_bytes() const {
  int64_t bytes = 0;
  for (const ResolvedWorkspace& workspace : state_->plan.workspaces) bytes += workspace.bytes;
  return bytes;
}

BoundPlan::BoundPlan(std::shared_ptr<const PlanState> state, std::vector<BoundStep> steps)
    : state_(std::move(state)), steps_(std::move(steps)) {}
BoundPlan::BoundPlan(BoundPlan&&) noexcept = default;
BoundPlan& BoundPlan::operator=(BoundPlan&&) noexcept = default;
BoundPlan::~BoundPlan() = default;

Status BoundPlan::Execute(const cuda::Stream& stream) const {
  for (const BoundStep& step : steps_) {
    Status submitted = Submit(step, *state_, stream);
    if (!submitted.ok()) return Within(PlaceOf(step, *state_), std::move(submitted).error());
  }
  return {};
}

}  // namespace warpsmith::plan
