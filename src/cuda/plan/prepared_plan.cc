#include "cuda/plan/prepared_plan.h"

#include <utility>

#include "cuda/plan/steps.h"

namespace warpsmith::plan {

// Bound plans point into `launches`, and copies of a plan share it: nothing here changes any more
// once Prepare has returned.
struct PlanState {
  ResolvedPlan plan;
  std::shared_ptr<const cuda::Module> module;
  Launches launches;
  std::vector<cuda::DeviceBuffer> workspaces;  // one per workspace of the plan
  cuda::DeviceBuffer table_memory;             // all constant tables, each 256-byte aligned
  Tables tables;
};

namespace {

constexpr size_t kTableAlignment = 256;

Status AllocateWorkspaces(PlanState& state) {
  for (const ResolvedWorkspace& workspace : state.plan.workspaces) {
    auto buffer = cuda::DeviceBuffer::Allocate(static_cast<size_t>(workspace.bytes));
    if (!buffer.ok()) {
      Error error = buffer.error();
      error.message = "workspace '" + workspace.name + "': " + error.message;
      return error;
    }
    state.workspaces.push_back(std::move(buffer).value());
  }
  return {};
}

// Lays all tables out in one image; offsets become addresses once it is uploaded.
Status UploadTables(PlanState& state) {
  std::string image;
  for (size_t i = 0; i < state.plan.operations.size(); ++i) {
    const auto* launch = std::get_if<ResolvedLaunch>(&state.plan.operations[i]);
    if (launch == nullptr) continue;
    for (size_t j = 0; j < launch->arguments.size(); ++j) {
      const auto* table = std::get_if<TableArgument>(&launch->arguments[j]);
      if (table == nullptr) continue;
      state.tables[{i, j}] = image.size();
      image.append(reinterpret_cast<const char*>(table->values.data()),
                   table->values.size() * sizeof(int32_t));
      image.resize((image.size() + kTableAlignment - 1) / kTableAlignment * kTableAlignment);
    }
  }
  state.table_memory = TRY(cuda::DeviceBuffer::Allocate(image.size()));
  for (auto& [place, address] : state.tables) address += state.table_memory.address();
  return cuda::CopyToDevice(state.table_memory.address(), image.data(), image.size());
}

}  // namespace

PreparedPlan::PreparedPlan(std::shared_ptr<const PlanState> state) : state_(std::move(state)) {}

Result<PreparedPlan> PreparedPlan::Prepare(ResolvedPlan plan,
                                           std::shared_ptr<const cuda::Module> module) {
  auto state = std::make_shared<PlanState>();
  state->plan = std::move(plan);
  state->module = std::move(module);
  state->launches = TRY(PrepareLaunches(state->plan, *state->module));
  TRY(AllocateWorkspaces(*state));
  TRY(UploadTables(*state));
  return PreparedPlan(std::move(state));
}

Result<BoundPlan> PreparedPlan::Bind(std::span<const Binding> bindings) const {
  Memories memories;
  for (const Binding& binding : bindings) {
    // No base (-1): the address itself. The judge binds anew for each launch; the GEMM library, which
    // must not allocate in a call, leaves addresses open (LaunchStep::Patch).
    memories[binding.tensor] = {{-1, binding.address}, binding.bytes};
  }
  for (size_t i = 0; i < state_->plan.workspaces.size(); ++i) {
    const ResolvedWorkspace& workspace = state_->plan.workspaces[i];
    memories[workspace.name] = {{-1, state_->workspaces[i].address()}, workspace.bytes};
  }
  return BoundPlan(state_,
                   TRY(MakeSteps(state_->plan, state_->launches, state_->tables, memories)));
}

Status PreparedPlan::Execute(const cuda::Stream& stream, std::span<const Binding> bindings) const {
  const BoundPlan bound = TRY(Bind(bindings));
  return bound.Execute(stream);
}

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
  return RunSteps(steps_, {}, stream.handle());
}

}  // namespace warpsmith::plan
