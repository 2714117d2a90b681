#include "judge/arena_mapping.h"

#include <fmt/core.h>

#include <utility>

#include "judge/resolved_task.h"

namespace warpsmith::judge {
namespace {

// By role; regions lie relative to the starts of their mappings.
struct SharedTensors {
  std::vector<Region> regions;
  std::vector<int64_t> mapped_bytes;
};

Result<std::vector<WireRegion>> WireRegionsOf(const Task& task, const Workload& workload,
                                              const SharedTensors& shared) {
  const std::vector<size_t> roles = RolesInTaskOrder(task);
  CHECK(shared.regions.size() == roles.size() && shared.mapped_bytes.size() == roles.size());
  std::vector<WireRegion> described;
  for (size_t i = 0; i < roles.size(); ++i) {
    const TensorSpec& tensor = task.tensors[i];
    const Region& region = shared.regions[roles[i]];
    WireRegion wire;
    wire.tensor = tensor.name;
    wire.role = tensor.role;
    wire.dtype = tensor.dtype;
    wire.extents = TRY(Extents(tensor, workload.sizes));
    wire.bytes = region.bytes;
    wire.mapped_bytes = shared.mapped_bytes[roles[i]];
    wire.slots = region.slots;
    wire.stride_bytes = region.slots > 1 ? region.OffsetOf(1) - region.OffsetOf(0) : 0;
    wire.offset_bytes = static_cast<int64_t>(region.base) + region.OffsetOf(0);
    described.push_back(std::move(wire));
  }
  return described;
}

// `groups`: slots and exact ones, or exact ones alone. source.Export() gives descriptors by role, a
// group after the other.
template <typename Source>
Result<CallResult> MapIn(CalledProcess& process, const Task& task, const Workload& workload,
                         const std::vector<SharedTensors>& groups, const Source& source,
                         std::chrono::milliseconds limit) {
  ArenaCommand command{task, workload, {}, {}};
  command.exact = TRY(WireRegionsOf(task, workload, groups.back()));
  if (groups.size() > 1) command.regions = TRY(WireRegionsOf(task, workload, groups.front()));
  const std::vector<int> exported = TRY(source.Export());
  const std::vector<size_t> roles = RolesInTaskOrder(task);
  std::vector<int> descriptors;
  for (size_t group = 0; group < groups.size(); ++group) {
    for (const size_t role : roles) descriptors.push_back(exported.at(group * roles.size() + role));
  }
  process.arena_id.clear();  // whatever comes of it, the old one is gone
  CallResult mapped = process.Call(command, limit, {}, descriptors);
  CloseAll(exported);
  return mapped;
}

}  // namespace

Result<CallResult> MapArenaIn(CalledProcess& process, const Arena& arena, const Task& task,
                              const Workload& workload, std::chrono::milliseconds limit) {
  const std::vector<int64_t> mapped = arena.mapped_bytes();
  const size_t roles = arena.problem().Roles();
  const auto exact_at = mapped.begin() + static_cast<std::ptrdiff_t>(roles);
  SharedTensors slots{{}, {mapped.begin(), exact_at}}, exact{{}, {exact_at, mapped.end()}};
  for (size_t role = 0; role < roles; ++role) {
    slots.regions.push_back(arena.slots(role));
    slots.regions.back().base = 0;
    exact.regions.push_back(MakeExactRegion(arena.exact(role).bytes, exact.mapped_bytes[role]));
  }
  CallResult result = TRY(MapIn(process, task, workload, {slots, exact}, arena, limit));
  if (std::holds_alternative<Reply>(result)) process.arena_id = arena.id();
  return result;
}

Result<CallResult> MapStageIn(CalledProcess& process, const ReferenceStage& stage, const Task& task,
                              const Workload& workload, std::chrono::milliseconds limit) {
  return MapIn(process, task, workload, {{stage.regions(), stage.mapped_bytes()}}, stage, limit);
}

Result<MappedMemory> MapMemory(const ArenaCommand& command, const std::vector<int>& descriptors,
                               const cuda::DeviceProperties& device) {
  const size_t tensors = command.task.tensors.size();
  const size_t count = command.regions.size() + command.exact.size();
  const bool has_slots = !command.regions.empty();
  if (descriptors.size() != count || command.exact.size() != tensors ||
      (has_slots && command.regions.size() != tensors)) {
    return Error{ErrorCode::kInternal,
                 fmt::format("judge command 'arena': {} regions and {} descriptors of {} tensors",
                             count, descriptors.size(), tensors),
                 ""};
  }
  const cuda::MappingOptions options{cuda::Access::kReadWrite, TRY(cuda::SharedGranularity(device)),
                                     0};
  MappedMemory memory{command.task, command.workload, {}, {}, {}};
  for (size_t i = 0; i < count; ++i) {
    const bool is_slots = i < command.regions.size();
    const WireRegion& region =
        is_slots ? command.regions[i] : command.exact[i - command.regions.size()];
    const auto physical = TRY(cuda::PhysicalMemory::Import(
        device, descriptors[i], static_cast<size_t>(region.mapped_bytes)));
    memory.mappings.push_back(TRY(cuda::Mapping::Map(physical, options)));
    (is_slots ? memory.slots : memory.exact).push_back({region, memory.mappings.back().address()});
  }
  return memory;
}

}  // namespace warpsmith::judge
