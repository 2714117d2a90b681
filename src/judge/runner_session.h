// The state of a runner: device, arena, what has been loaded.
#ifndef WARPSMITH_JUDGE_RUNNER_SESSION_H_
#define WARPSMITH_JUDGE_RUNNER_SESSION_H_

#include <functional>
#include <span>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/shared_memory.h"
#include "cuda/stream.h"
#include "judge/arena_mapping.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/kernels.h"
#include "judge/resolved_task.h"
#include "judge/wire.h"

namespace warpsmith::judge {

// What every batch needs on the device, whoever is timed.
struct Bench {
  cuda::Context context;
  cuda::Stream stream, side;
  cuda::Event start, end;
  Kernels kernels;
  cuda::DeviceBuffer evict_buffer;  // several times the L2
  cuda::DeviceBuffer sink;          // what evicting never writes; words that floods count in
  int64_t (*host_ns)();
  uint64_t flood_count() const { return sink.address() + 64; }
  uint64_t occupy_count() const { return sink.address() + 128; }
};

struct MappedArena {
  MappedMemory memory;
  ResolvedTask problem;
  std::vector<Region> slots, exact;  // by role, at this process's addresses
};

// Submits one launch; can be captured in a graph.
using Enqueue = std::function<Status(const cuda::Stream&)>;

// What is called and timed: a plan, or a library's call. Both run under the identical protocol.
struct Callable {
  // Fixes the addresses of one launch. `launch` counts within the batch: launches with different
  // numbers share no workspace, as far as there are replicas.
  std::function<Result<Enqueue>(std::span<const plan::Binding>, int launch)> bind;
  // Poisons what scratch memory it has.
  std::function<Status(const cuda::Stream&)> reset_workspaces;
  // Writes over what else outlives a launch: shared memory and local memory.
  std::function<Status(const cuda::Stream&)> clear_notes;
  // Its first kernel may begin while what lies ahead of it in the stream is still at work.
  bool begins_early = false;
};

// Addresses of one launch's tensors.
std::vector<plan::Binding> BindingsOf(const MappedArena& arena, const WireLaunch& launch);

// Turns the launch's inputs around, and back again by a kernel that takes its time: a callable
// that begins early and does not wait for them computes with what they are not.
Status WriteInputsLate(const Bench& bench, const MappedArena& arena,
                       const std::vector<plan::Binding>& bindings);

// Runs one batch and times it (runner_sample.cc).
Result<std::vector<double>> RunSample(const Bench& bench, const MappedArena& arena,
                                      const Callable& callable, const SampleCommand& command);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_RUNNER_SESSION_H_
