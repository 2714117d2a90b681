// How the memory of an arena, or of a reference's stage, gets into a called process: the oracle
// hands over descriptors and says which tensor lies where; the process maps them.
#ifndef WARPSMITH_JUDGE_ARENA_MAPPING_H_
#define WARPSMITH_JUDGE_ARENA_MAPPING_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "cuda/context.h"
#include "cuda/shared_memory.h"
#include "judge/arena.h"
#include "judge/called_process.h"
#include "judge/reference_stage.h"

namespace warpsmith::judge {

// --- The oracle's end. An Error is the oracle's own; a call that ended in anything but a Reply is the
// process's failure, and it has no arena then.

Result<CallResult> MapArenaIn(CalledProcess& process, const Arena& arena, const Task& task,
                              const Workload& workload, std::chrono::milliseconds limit);
// `task` is the reference's: ReferenceTask().
Result<CallResult> MapStageIn(CalledProcess& process, const ReferenceStage& stage, const Task& task,
                              const Workload& workload, std::chrono::milliseconds limit);

// --- The called process's end.

struct MappedRegion {
  WireRegion region;
  uint64_t base = 0;  // of the mapping, in this process
  uint64_t AddressOf(int64_t slot) const {
    return base + static_cast<uint64_t>(region.offset_bytes + slot * region.stride_bytes);
  }
};

struct MappedMemory {
  Task task;
  Workload workload;
  std::vector<cuda::Mapping> mappings;
  // In the order of task.tensors. Exact regions have one slot, which ends at an unmapped page. A
  // process that computes references has no slots.
  std::vector<MappedRegion> slots, exact;
};

// The descriptors stay the caller's.
Result<MappedMemory> MapMemory(const ArenaCommand& command, const std::vector<int>& descriptors,
                               const cuda::DeviceProperties& device);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ARENA_MAPPING_H_
