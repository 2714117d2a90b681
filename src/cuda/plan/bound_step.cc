#include "cuda/plan/bound_step.h"

#include <cstring>
#include <map>
#include <utility>

#include "core/dtype.h"
#include "cuda/plan/tensor_map_spec.h"

namespace warpsmith::plan {
namespace {

__extension__ using Wide = __int128;  // no product of two 64-bit fields overflows it

using Regions = std::map<std::string, Region, std::less<>>;

Regions RegionsOf(const PlanState& state, std::span<const Binding> bindings) {
  Regions regions;
  for (const Binding& binding : bindings) {
    regions[binding.tensor] = {binding.address, binding.bytes};
  }
  for (size_t i = 0; i < state.plan.workspaces.size(); ++i) {
    const ResolvedWorkspace& workspace = state.plan.workspaces[i];
    regions[workspace.name] = {state.workspaces[i].address(), workspace.bytes};
  }
  return regions;
}

// Binds the operations of one plan, one after the other. Error texts start at the operation's
// field.
class Binder {
 public:
  Binder(const PlanState& state, std::span<const Binding> bindings)
      : state_(state), regions_(RegionsOf(state, bindings)) {}

  Result<BoundStep> Bind(size_t operation) const {
    auto action = std::visit(
        [&](const auto& resolved) -> Result<decltype(BoundStep::action)> {
          return TRY(BindOperation(operation, resolved));
        },
        state_.plan.operations[operation]);
    if (!action.ok()) return Within(OperationText(operation), action.error());
    return BoundStep{operation, std::move(action).value()};
  }

 private:
  using Action = decltype(BoundStep::action);

  // The memory called `name`, which must hold `needed` bytes.
  Result<Region> Find(std::string_view field, const std::string& name, Wide needed) const {
    const auto found = regions_.find(name);
    if (found == regions_.end()) {
      return Error{ErrorCode::kBadInput, std::string(field) + ": '" + name + "' was not bound", ""};
    }
    if (needed <= found->second.bytes) return found->second;
    return Error{ErrorCode::kBadInput,
                 std::string(field) + ": reaches past the " + std::to_string(found->second.bytes) +
                     " bytes of '" + name + "'",
                 ""};
  }

  Result<Action> BindOperation(size_t /*operation*/, const ResolvedMemset& memset) const {
    const Region target = TRY(Find("target", memset.target, memset.bytes));
    return Action(BoundMemset{target.address, memset.value, static_cast<size_t>(memset.bytes)});
  }

  Result<Action> BindOperation(size_t /*operation*/, const ResolvedCopy& copy) const {
    const Region target = TRY(Find("target", copy.target, copy.bytes));
    const Region source = TRY(Find("source", copy.source, copy.bytes));
    return Action(BoundCopy{target.address, source.address, static_cast<size_t>(copy.bytes)});
  }

  Result<Action> BindOperation(size_t /*operation*/, const ResolvedPad& pad) const {
    if (pad.width_bytes > pad.target_pitch_bytes || pad.rows > pad.target_rows ||
        pad.width_bytes > pad.source_pitch_bytes) {
      return Error{ErrorCode::kBadInput, "a row or the row count does not fit its target", ""};
    }
    const Wide source_bytes =
        pad.rows == 0 ? Wide{0} : Wide{pad.rows - 1} * pad.source_pitch_bytes + pad.width_bytes;
    const Wide target_bytes = Wide{pad.target_rows} * pad.target_pitch_bytes;
    const Region target = TRY(Find("target", pad.target, target_bytes));
    const Region source = TRY(Find("source", pad.source, source_bytes));
    return Action(BoundPad{target.address,
                           static_cast<size_t>(pad.target_pitch_bytes),
                           static_cast<size_t>(pad.target_rows),
                           {source.address, static_cast<size_t>(pad.source_pitch_bytes),
                            static_cast<size_t>(pad.width_bytes), static_cast<size_t>(pad.rows)}});
  }

  Result<Action> BindOperation(size_t operation, const ResolvedLaunch& launch) const {
    BoundLaunch bound;
    bound.slots.resize(launch.arguments.size());
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string field = "arguments[" + std::to_string(i) + "]";
      const Status filled = std::visit(
          [&](const auto& argument) {
            return Fill(field, {operation, i}, argument, &bound.slots[i]);
          },
          launch.arguments[i]);
      if (!filled.ok()) return filled.error();
      bound.pointers.push_back(&bound.slots[i]);
    }
    return Action(std::move(bound));
  }

  template <typename T>
  static void Store(const T& value, ArgumentSlot* slot) {
    static_assert(sizeof(value) <= sizeof(slot->bytes));
    std::memcpy(slot->bytes, &value, sizeof(value));
  }

  using Place = std::pair<size_t, size_t>;

  Status Fill(const std::string& field, Place /*place*/, const TensorArgument& argument,
              ArgumentSlot* slot) const {
    Store(TRY(Find(field, argument.tensor, 0)).address, slot);
    return {};
  }

  Status Fill(const std::string& field, Place /*place*/, const WorkspaceArgument& argument,
              ArgumentSlot* slot) const {
    Store(TRY(Find(field, argument.workspace, 0)).address, slot);
    return {};
  }

  Status Fill(const std::string& /*field*/, Place /*place*/, const ResolvedScalar& scalar,
              ArgumentSlot* slot) const {
    Store(scalar.bits, slot);
    return {};
  }

  Status Fill(const std::string& /*field*/, Place place, const TableArgument& /*table*/,
              ArgumentSlot* slot) const {
    Store(state_.table_of.at(place), slot);
    return {};
  }

  Status Fill(const std::string& field, Place /*place*/, const ResolvedTensorMap& map,
              ArgumentSlot* slot) const;

  const PlanState& state_;
  Regions regions_;
};

// From the tensor's first byte to past its last one, as the map describes it.
Wide BytesSpanned(const ResolvedTensorMap& map) {
  if (map.dims.empty() || map.strides_bytes.size() + 1 != map.dims.size()) return 0;
  Wide bytes = Wide{map.dims[0]} * ElementBytes(map.dtype);
  for (size_t i = 1; i < map.dims.size(); ++i) {
    bytes += (Wide{map.dims[i]} - 1) * map.strides_bytes[i - 1];
  }
  return bytes;
}

Status Binder::Fill(const std::string& field, Place /*place*/, const ResolvedTensorMap& map,
                    ArgumentSlot* slot) const {
  const Region tensor = TRY(Find(field, map.tensor, BytesSpanned(map)));
  const auto encoded = cuda::EncodeTensorMap(tensor.address, SpecOf(map));
  if (!encoded.ok()) return Within(field, encoded.error());
  Store(*encoded, slot);
  return {};
}

}  // namespace

Result<std::vector<BoundStep>> BindSteps(const PlanState& state,
                                         std::span<const Binding> bindings) {
  std::vector<BoundStep> steps;
  for (size_t i = 0; i < state.plan.workspaces.size(); ++i) {
    if (!state.plan.workspaces[i].zero) continue;
    const cuda::DeviceBuffer& buffer = state.workspaces[i];
    steps.push_back(
        {state.plan.operations.size(), BoundMemset{buffer.address(), 0, buffer.bytes()}});
  }
  const Binder binder(state, bindings);
  for (size_t i = 0; i < state.plan.operations.size(); ++i) {
    steps.push_back(TRY(binder.Bind(i)));
  }
  return steps;
}

}  // namespace warpsmith::plan
