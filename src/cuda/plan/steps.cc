#include "cuda/plan/steps.h"

#include <array>
#include <cstring>

#include "core/resolved_plan.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::plan {
namespace {

__extension__ using Wide = __int128;  // no product of two 64-bit fields overflows it

// "operations[2]", "operations[2].arguments[1]"
std::string OperationText(size_t operation) {
  return "operations[" + std::to_string(operation) + "]";
}
std::string ArgumentText(size_t argument) { return "arguments[" + std::to_string(argument) + "]"; }

Error Within(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return error;
}

// --- Launches.

cuda::LaunchConfig ConfigOf(const ResolvedLaunch& launch) {
  return {launch.grid,         launch.block,       launch.cluster,
          launch.shared_bytes, launch.cooperative, launch.programmatic};
}

// Sets what the kernel needs before a launch of this kind, or an occupancy query about it.
Status SetAttributes(const cuda::Function& function, const ResolvedLaunch& launch) {
  TRY(cuda::RaiseMaxDynamicShared(function, launch.shared_bytes));
  if (launch.nonportable_cluster) TRY(cuda::AllowNonPortableCluster(function));
  return {};
}

// Bytes of the kernel parameter that an argument fills.
size_t ParameterBytes(const ResolvedArgument& argument) {
  if (const auto* scalar = std::get_if<ResolvedScalar>(&argument)) {
    return static_cast<size_t>(scalar->bytes);
  }
  return std::holds_alternative<ResolvedTensorMap>(argument) ? sizeof(cuda::TensorMap)
                                                             : sizeof(cuda::DevicePointer);
}

Status CheckParameters(size_t operation, const ResolvedLaunch& launch,
                       const cuda::Function& function) {
  const std::vector<cuda::Parameter> parameters = TRY(cuda::Parameters(function));
  const auto differ = [&](const std::string& place, const std::string& what) {
    return Error{
        ErrorCode::kBadInput,
        OperationText(operation) + "." + place + ": kernel '" + launch.kernel + "' takes " + what,
        "make the plan's arguments match the kernel's declaration"};
  };
  if (parameters.size() != launch.arguments.size()) {
    return differ("arguments", std::to_string(parameters.size()) + " parameters, found " +
                                   std::to_string(launch.arguments.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const size_t given = ParameterBytes(launch.arguments[i]);
    if (parameters[i].bytes == given) continue;
    return differ(ArgumentText(i), std::to_string(parameters[i].bytes) + " bytes there, found " +
                                       std::to_string(given));
  }
  return {};
}

// --- Tensor maps.

cuda::TensorElement ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return cuda::TensorElement::kF16;
    case DType::kBF16:
      return cuda::TensorElement::kBF16;
    case DType::kF32:
      return cuda::TensorElement::kF32;
    case DType::kF64:
      return cuda::TensorElement::kF64;
    case DType::kI8:
    case DType::kBool:
      return cuda::TensorElement::kU8;  // TMA moves bytes: the sign is the kernel's business
    case DType::kI32:
      return cuda::TensorElement::kI32;
    case DType::kI64:
      return cuda::TensorElement::kI64;
  }
  CHECK(false);
}

cuda::TensorMapSpec SpecOf(const ResolvedTensorMap& map) {
  return {ElementOf(map.dtype), map.dims,
          map.strides_bytes,    map.box,
          map.element_strides,  SwizzleBytes(map.swizzle),
          map.interleave_bytes, map.l2_promotion_bytes,
          map.fill_nan};
}

// From the tensor's first byte to past its last one, as the map describes it.
Wide BytesSpanned(const ResolvedTensorMap& map) {
  if (map.dims.empty() || map.strides_bytes.size() + 1 != map.dims.size()) return 0;
  Wide bytes = Wide{map.dims[0]} * ElementBytes(map.dtype);
  for (size_t i = 1; i < map.dims.size(); ++i) {
    bytes += (Wide{map.dims[i]} - 1) * map.strides_bytes[i - 1];
  }
  return bytes;
}

// The map describes the matrix row by row, as it is, so that another pitch is another stride.
bool IsWholeMatrix(const ResolvedTensorMap& map, const Memory& memory) {
  return map.dims.size() == 2 && map.dims[1] == memory.rows &&
         map.dims[0] * static_cast<uint64_t>(ElementBytes(map.dtype)) == memory.row_bytes &&
         map.strides_bytes[0] == memory.row_bytes;
}

// --- Steps.

// Makes the steps of one plan. Error texts start at the operation's field.
class Maker {
 public:
  Maker(const Launches& launches, const Tables& tables, const Memories& memories)
      : launches_(launches), tables_(tables), memories_(memories) {}

  Result<BoundStep> Make(size_t operation, const ResolvedOperation& resolved) const {
    auto action = std::visit([&](const auto& one) { return ActionOf(operation, one); }, resolved);
    if (!action.ok()) return Within(OperationText(operation), action.error());
    return BoundStep{operation, std::move(action).value()};
  }

  // The memory called `name`, which must hold `needed` bytes.
  Result<Memory> Find(std::string_view field, const std::string& name, Wide needed,
                      bool may_be_pitched = false) const {
    const auto bad = [&](const std::string& what) {
      return Error{ErrorCode::kBadInput, std::string(field) + ": " + what, ""};
    };
    const auto found = memories_.find(name);
    if (found == memories_.end()) return bad("'" + name + "' was not bound");
    const Memory& memory = found->second;
    if (needed > memory.bytes) {
      return bad("reaches past the " + std::to_string(memory.bytes) + " bytes of '" + name + "'");
    }
    if (memory.pitch_bytes == 0 || may_be_pitched) return memory;
    return bad("this kernel takes " + name + " dense only");
  }

 private:
  using Action = decltype(BoundStep::action);

  Result<Action> ActionOf(size_t /*operation*/, const ResolvedMemset& memset) const {
    const Memory target = TRY(Find("target", memset.target, memset.bytes));
    return Action(FillStep{target.place, memset.value, static_cast<size_t>(memset.bytes)});
  }

  Result<Action> ActionOf(size_t /*operation*/, const ResolvedCopy& copy) const {
    const Memory target = TRY(Find("target", copy.target, copy.bytes));
    const Memory source = TRY(Find("source", copy.source, copy.bytes));
    return Action(CopyStep{target.place, source.place, static_cast<size_t>(copy.bytes)});
  }

  Result<Action> ActionOf(size_t /*operation*/, const ResolvedPad& pad) const {
    if (pad.width_bytes > pad.target_pitch_bytes || pad.rows > pad.target_rows ||
        pad.width_bytes > pad.source_pitch_bytes) {
      return Error{ErrorCode::kBadInput, "a row or the row count does not fit its target", ""};
    }
    const Wide source_bytes =
        pad.rows == 0 ? Wide{0} : Wide{pad.rows - 1} * pad.source_pitch_bytes + pad.width_bytes;
    const Wide target_bytes = Wide{pad.target_rows} * pad.target_pitch_bytes;
    const Memory target = TRY(Find("target", pad.target, target_bytes));
    const Memory source = TRY(Find("source", pad.source, source_bytes));
    return Action(CopyStep{target.place, source.place, 0, pad});
  }

  Result<Action> ActionOf(size_t operation, const ResolvedLaunch& launch) const {
    LaunchStep step;
    step.launch = &launches_.at(operation);
    step.slots.resize(launch.arguments.size());
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const Status filled = std::visit(
          [&](const auto& argument) {
            return Fill({operation, i}, argument, step);
          },
          launch.arguments[i]);
      if (!filled.ok()) return filled.error();
      step.pointers.push_back(&step.slots[i]);
    }
    if (step.patches.empty() || step.slots.size() <= kMostPatchedArguments) {
      return Action(std::move(step));
    }
    return Error{ErrorCode::kBadInput, "more than 24 arguments a launch", ""};
  }

  using Argument = std::pair<size_t, size_t>;  // operation, argument

  template <typename T>
  static void Store(const T& value, ArgumentSlot& slot) {
    static_assert(sizeof(value) <= sizeof(slot.bytes));
    std::memcpy(slot.bytes, &value, sizeof(value));
  }

  Status FillAddress(Argument argument, const std::string& name, LaunchStep& step) const {
    const Place place = TRY(Find(ArgumentText(argument.second), name, 0)).place;
    if (place.base >= 0) step.patches.push_back({argument.second, false, place});
    Store(place.offset_bytes, step.slots[argument.second]);
    return {};
  }
  Status Fill(Argument argument, const TensorArgument& tensor, LaunchStep& step) const {
    return FillAddress(argument, tensor.tensor, step);
  }
  Status Fill(Argument argument, const WorkspaceArgument& workspace, LaunchStep& step) const {
    return FillAddress(argument, workspace.workspace, step);
  }
  Status Fill(Argument argument, const ResolvedScalar& scalar, LaunchStep& step) const {
    Store(scalar.bits, step.slots[argument.second]);
    return {};
  }
  Status Fill(Argument argument, const TableArgument& /*table*/, LaunchStep& step) const {
    const auto found = tables_.find(argument);
    if (found == tables_.end()) {
      return Error{ErrorCode::kBadInput, ArgumentText(argument.second) + ": no table there", ""};
    }
    Store(found->second, step.slots[argument.second]);
    return {};
  }
  Status Fill(Argument argument, const ResolvedTensorMap& map, LaunchStep& step) const {
    const std::string field = ArgumentText(argument.second);
    Memory memory = TRY(Find(field, map.tensor, BytesSpanned(map), true));
    cuda::TensorMapSpec spec = SpecOf(map);
    if (memory.pitch_bytes != 0) {
      if (!IsWholeMatrix(map, memory)) TRY(Find(field, map.tensor, 0));
      spec.strides_bytes[0] = memory.pitch_bytes;
    }
    // Any aligned address will do until there is one.
    constexpr cuda::DevicePointer kSomewhere = 4096;
    const bool is_known = memory.place.base < 0;
    const auto encoded =
        cuda::EncodeTensorMap(is_known ? memory.place.offset_bytes : kSomewhere, spec);
    if (!encoded.ok()) return Within(field, encoded.error());
    Store(*encoded, step.slots[argument.second]);
    if (!is_known) step.patches.push_back({argument.second, true, memory.place});
    return {};
  }

  const Launches& launches_;
  const Tables& tables_;
  const Memories& memories_;
};

struct Runner {
  std::span<const cuda::DevicePointer> bases;
  CUstream_st* stream;

  cuda::DevicePointer At(const Place& place) const {
    return place.offset_bytes + (place.base < 0 ? 0 : bases[static_cast<size_t>(place.base)]);
  }

  Status operator()(const FillStep& step) const {
    return cuda::FillAsync(At(step.target), step.value, step.bytes, stream);
  }

  // The copied block, the rest of its rows, and the rows below it.
  Status operator()(const CopyStep& step) const {
    const cuda::DevicePointer target = At(step.target), source = At(step.source);
    if (!step.pad) return cuda::CopyOnDeviceAsync(target, source, step.bytes, stream);
    const auto pitch = static_cast<size_t>(step.pad->target_pitch_bytes);
    const auto width = static_cast<size_t>(step.pad->width_bytes);
    const auto rows = static_cast<size_t>(step.pad->rows);
    const auto source_pitch = static_cast<size_t>(step.pad->source_pitch_bytes);
    TRY(cuda::CopyRowsAsync(target, pitch, {source, source_pitch, width, rows}, stream));
    TRY(cuda::FillRowsAsync({target + width, pitch, pitch - width, rows}, 0, stream));
    const auto below = static_cast<size_t>(step.pad->target_rows) - rows;
    return cuda::FillAsync(target + rows * pitch, 0, below * pitch, stream);
  }

  Status operator()(const LaunchStep& step) const {
    if (step.patches.empty()) return step.launch->Submit(stream, step.pointers.data());
    // A copy on the stack, patched for this run: a call of the library allocates nothing, and
    // several threads may run the same steps.
    // NOLINTNEXTLINE(*-member-init): filled as far as it is used
    std::array<ArgumentSlot, kMostPatchedArguments> slots;
    std::array<void*, kMostPatchedArguments> pointers;  // NOLINT(*-member-init)
    std::memcpy(slots.data(), step.slots.data(), step.slots.size() * sizeof(ArgumentSlot));
    for (size_t i = 0; i < step.slots.size(); ++i) pointers[i] = slots[i].bytes;
    for (const LaunchStep::Patch& patch : step.patches) {
      const cuda::DevicePointer address = At(patch.place);
      std::byte* const slot = slots[patch.slot].bytes;
      if (patch.in_map) {
        TRY(cuda::ReplaceAddress(reinterpret_cast<cuda::TensorMap*>(slot), address));
      } else {
        std::memcpy(slot, &address, sizeof(address));
      }
    }
    return step.launch->Submit(stream, pointers.data());
  }
};

}  // namespace

Result<Launches> PrepareLaunches(const ResolvedPlan& plan, const cuda::Module& module) {
  Launches launches;
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    const auto* launch = std::get_if<ResolvedLaunch>(&plan.operations[i]);
    if (launch == nullptr) continue;
    const auto function = module.Kernel(launch->kernel);
    if (!function.ok()) return Within(OperationText(i) + ".kernel", function.error());
    TRY(CheckParameters(i, *launch, *function));
    const Status set = SetAttributes(*function, *launch);
    if (!set.ok()) return Within(OperationText(i), set.error());
    // A map, since steps keep pointers to its values: they stay where they are while it grows.
    launches.emplace(i, cuda::FixedLaunch(*function, ConfigOf(*launch)));
  }
  return launches;
}

Result<std::vector<BoundStep>> MakeSteps(const ResolvedPlan& plan, const Launches& launches,
                                         const Tables& tables, const Memories& memories) {
  const Maker maker(launches, tables, memories);
  std::vector<BoundStep> steps;
  for (const ResolvedWorkspace& workspace : plan.workspaces) {
    if (!workspace.zero) continue;
    const Memory memory = TRY(maker.Find("workspaces", workspace.name, workspace.bytes));
    steps.push_back({kZeroing, FillStep{memory.place, 0, static_cast<size_t>(workspace.bytes)}});
  }
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    steps.push_back(TRY(maker.Make(i, plan.operations[i])));
  }
  return steps;
}

Status RunSteps(std::span<const BoundStep> steps, std::span<const cuda::DevicePointer> bases,
                CUstream_st* stream) {
  for (const BoundStep& step : steps) {
    Status submitted = std::visit(Runner{bases, stream}, step.action);
    if (submitted.ok()) continue;
    return Within(
        step.operation == kZeroing ? "zeroing a workspace" : OperationText(step.operation),
        std::move(submitted).error());
  }
  return {};
}

ClusterOccupancy OccupancyOf(const cuda::Module& module, int sm_count) {
  return [&module, sm_count](const ResolvedLaunch& launch) -> Result<int64_t> {
    const cuda::Function function = TRY(module.Kernel(launch.kernel));
    TRY(SetAttributes(function, launch));
    const cuda::LaunchConfig config = ConfigOf(launch);
    if (config.cluster[0] * config.cluster[1] * config.cluster[2] > 1) {
      return int64_t{TRY(cuda::MaxActiveClusters(function, config))};
    }
    return int64_t{TRY(cuda::MaxActiveBlocksPerSm(function, config))} * sm_count;
  };
}

}  // namespace warpsmith::plan
