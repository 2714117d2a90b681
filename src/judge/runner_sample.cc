// The four timing modes. Whatever is not between the two events (or clock readings) is untimed.
#include <fmt/core.h>

#include "cuda/stream.h"
#include "judge/runner_session.h"

namespace warpsmith::judge {
namespace {

struct BoundBatch {
  std::vector<Enqueue> touch, timed;
};

Result<BoundBatch> BindBatch(const MappedArena& arena, const Callable& callable,
                             const SampleCommand& command) {
  BoundBatch batch;
  int launch = 0;
  for (const WireLaunch& slots : command.touch) {
    batch.touch.push_back(TRY(callable.bind(BindingsOf(arena, slots), launch++)));
  }
  for (const WireLaunch& slots : command.timed) {
    batch.timed.push_back(TRY(callable.bind(BindingsOf(arena, slots), launch++)));
  }
  return batch;
}

// One timed batch of one callable.
class Batch {
 public:
  Batch(const Bench& bench, const MappedArena& arena, const Callable& callable,
        const SampleCommand& command, BoundBatch bound)
      : bench_(bench),
        arena_(arena),
        callable_(callable),
        command_(command),
        bound_(std::move(bound)) {}

  Result<std::vector<double>> Hot() const {
    return TimeGraph([this]() -> Status {
      TRY(PrepareHot());
      return TimedLaunches();
    });
  }

  Result<std::vector<double>> Cold() const {
    return TimeGraph([this]() -> Status {
      TRY(Poison());
      TRY(callable_.clear_notes(bench_.stream));
      TRY(callable_.reset_workspaces(bench_.stream));
      TRY(Evict());
      return TimedLaunches();
    });
  }

  // Launches go out one by one, so that the host's part of each is in the time.
  Result<std::vector<double>> Offline() const {
    TRY(PrepareHot());
    TRY(bench_.stream.Synchronize());
    TRY(bench_.start.Record(bench_.stream));
    TRY(SubmitTimed());
    TRY(bench_.end.Record(bench_.stream));
    TRY(bench_.context.Synchronize());
    return std::vector<double>{TRY(PerLaunchUs())};
  }

  // Single calls as a server makes them: the device idle, the caches somebody else's.
  Result<std::vector<double>> Server() const {
    TRY(Poison());
    TRY(callable_.reset_workspaces(bench_.stream));
    std::vector<double> elapsed_us;
    for (size_t call = 0; call < bound_.timed.size(); ++call) {
      TRY(callable_.clear_notes(bench_.stream));
      TRY(bench_.stream.Synchronize());
      TRY(bench_.context.ResetPersistingL2());
      TRY(Evict());
      TRY(bench_.stream.Synchronize());
      const int64_t idle_until_ns = bench_.host_ns() + int64_t{1000} * command_.idle_us.at(call);
      while (bench_.host_ns() < idle_until_ns) {
      }
      const int64_t begin_ns = bench_.host_ns();
      TRY(bound_.timed[call](bench_.stream));
      TRY(bench_.stream.Synchronize());
      elapsed_us.push_back(static_cast<double>(bench_.host_ns() - begin_ns) * 1e-3);
    }
    return elapsed_us;
  }

  // Each launch begins on a few SMs, while the others are taken: its blocks come one after another
  // that otherwise run at once. A block that needs what another writes, and does not wait for it,
  // finds it missing. Times mean nothing.
  Result<std::vector<double>> Crowded() const {
    TRY(Poison());
    TRY(callable_.clear_notes(bench_.stream));
    TRY(callable_.reset_workspaces(bench_.stream));
    for (const Enqueue& launch : bound_.timed) {
      TRY(cuda::FillAsync(bench_.occupy_count(), 0, sizeof(uint32_t), bench_.stream));
      TRY(bench_.stream.Synchronize());
      TRY(bench_.kernels.RunOccupy(command_.free_sms, kOccupiedUs, bench_.occupy_count(),
                                   bench_.side));
      TRY(bench_.kernels.RunAwaitOccupied(command_.free_sms, bench_.occupy_count(), bench_.stream));
      TRY(launch(bench_.stream));
      TRY(bench_.context.Synchronize());
    }
    return std::vector<double>{0};
  }

 private:
  static constexpr uint32_t kOccupiedUs = 300;

  Status Poison() const {
    for (size_t role = arena_.problem.inputs.size(); role < arena_.slots.size(); ++role) {
      TRY(bench_.kernels.RunPoison(arena_.slots[role], command_.poison, bench_.stream));
    }
    return {};
  }

  Status Evict() const {
    return bench_.kernels.RunEvict(bench_.evict_buffer.address(),
                                   static_cast<int64_t>(bench_.evict_buffer.bytes()),
                                   bench_.sink.address(), bench_.stream);
  }

  Status Submit(const std::vector<Enqueue>& launches) const {
    for (const Enqueue& launch : launches) TRY(launch(bench_.stream));
    return {};
  }

  // Between the events: one of them in front of a launch would keep it from beginning early.
  Status SubmitTimed() const {
    if (command_.late_inputs) {
      TRY(WriteInputsLate(bench_, arena_, BindingsOf(arena_, command_.timed.front())));
    }
    return Submit(bound_.timed);
  }

  // Inputs (and scratch memory, which a caller would reuse) end up in the L2, outputs do not.
  Status PrepareHot() const {
    TRY(Poison());
    TRY(callable_.clear_notes(bench_.stream));
    TRY(Evict());
    TRY(callable_.reset_workspaces(bench_.stream));
    TRY(Submit(bound_.touch));
    return command_.read_inputs ? ReadInputs() : Status{};
  }

  // The timed launches' inputs into the L2, where no launch of the callable may do it.
  Status ReadInputs() const {
    for (const WireLaunch& launch : command_.timed) {
      for (size_t role = 0; role < arena_.problem.inputs.size(); ++role) {
        const Region& region = arena_.slots[role];
        TRY(bench_.kernels.RunEvict(region.AddressOf(launch[role]), region.padded,
                                    bench_.sink.address(), bench_.stream));
      }
    }
    return {};
  }

  Status TimedLaunches() const {
    TRY(bench_.start.RecordInGraph(bench_.stream));
    TRY(SubmitTimed());
    return bench_.end.RecordInGraph(bench_.stream);
  }

  Result<std::vector<double>> TimeGraph(const std::function<Status()>& submit) const {
    const cuda::Graph graph = TRY(cuda::Graph::Capture(bench_.stream, submit));
    TRY(graph.Upload(bench_.stream));
    TRY(bench_.stream.Synchronize());
    TRY(graph.Launch(bench_.stream));
    TRY(bench_.context.Synchronize());
    return std::vector<double>{TRY(PerLaunchUs())};
  }

  Result<double> PerLaunchUs() const {
    const double us = TRY(cuda::ElapsedUs(bench_.start, bench_.end));
    return us / static_cast<double>(bound_.timed.size());
  }

  const Bench& bench_;
  const MappedArena& arena_;
  const Callable& callable_;
  const SampleCommand& command_;
  BoundBatch bound_;
};

}  // namespace

Result<std::vector<double>> RunSample(const Bench& bench, const MappedArena& arena,
                                      const Callable& callable, const SampleCommand& command) {
  if (command.timed.empty()) {
    return Error{ErrorCode::kInternal, "judge command 'sample' has nothing to time", ""};
  }
  const Batch batch(bench, arena, callable, command, TRY(BindBatch(arena, callable, command)));
  // Whoever was timed before may have made its lines the last to leave L2.
  TRY(bench.context.ResetPersistingL2());
  if (command.free_sms > 0) return batch.Crowded();
  switch (command.mode) {
    case Mode::kDeviceHot:
      return batch.Hot();
    case Mode::kDeviceCold:
      return batch.Cold();
    case Mode::kOffline:
      return batch.Offline();
    case Mode::kServer:
      return batch.Server();
    case Mode::kWall:
      break;  // a peer's (program_session.h)
  }
  return Error{ErrorCode::kInternal, "judge command 'sample' has an unknown mode", ""};
}

}  // namespace warpsmith::judge
