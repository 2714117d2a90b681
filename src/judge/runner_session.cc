#include "judge/runner_session.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_reader.h"
#include "core/resolved_plan.h"
#include "cuda/driver.h"
#include "cuda/plan/half_type.h"
#include "judge/baseline/entrants.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/batch_command.h"

namespace warpsmith::judge {
namespace {

// Libraries load their kernels at the first call, which a capture would not survive.
Status RunOnce(const Bench& bench, const MappedArena& arena, const Callable& callable) {
  const Enqueue enqueue = TRY(callable.bind(BindingsOf(arena, WireLaunch{0, 0, 0}), 0));
  TRY(enqueue(bench.stream));
  return bench.context.Synchronize();
}

Status CheckProduct(const MappedArena& arena, const std::string& name) {
  if (arena.problem.gemm) return {};
  return Error{ErrorCode::kBadInput, "baseline " + name + " multiplies matrices; the task does not",
               "name torch-best or a rival as the task's baseline"};
}

constexpr int64_t kMinEvictBytes = int64_t{128} << 20;
constexpr int64_t kMaxReplicaBytes = int64_t{4} << 30;

// The command lists tensors in the task's order; the tables here are by role, inputs first.
Result<MappedArena> MapArena(const Bench& bench, const ArenaCommand& command,
                             const std::vector<int>& descriptors) {
  MappedMemory memory = TRY(MapMemory(command, descriptors, bench.context.device()));
  ResolvedTask resolved = TRY(ResolveTask(command.task, command.workload));
  MappedArena arena{std::move(memory), std::move(resolved), {}, {}};
  const std::vector<size_t> roles = RolesInTaskOrder(command.task);
  arena.slots.resize(arena.memory.slots.size());
  arena.exact.resize(roles.size());
  for (size_t i = 0; i < roles.size(); ++i) {
    if (!arena.slots.empty()) {
      const MappedRegion& slots = arena.memory.slots[i];
      Region& region = arena.slots[roles[i]];
      region = MakeRegion(static_cast<int>(slots.region.slots), slots.region.bytes);
      region.base = slots.base;
    }
    const MappedRegion& exact = arena.memory.exact[i];
    Region& region = arena.exact[roles[i]];
    region = MakeExactRegion(exact.region.bytes, exact.region.mapped_bytes);
    region.base += exact.base;
  }
  return arena;
}

plan::Binding BindingOf(const MappedArena& arena, size_t role, uint64_t address) {
  const TensorInfo& tensor = arena.problem.Tensor(role);
  return {tensor.name, address, tensor.bytes};
}

std::vector<plan::Binding> ExactBindings(const MappedArena& arena) {
  std::vector<plan::Binding> bindings;
  for (size_t role = 0; role < arena.exact.size(); ++role) {
    bindings.push_back(BindingOf(arena, role, arena.exact[role].AddressOf(0)));
  }
  return bindings;
}

// A plan's kernels and workspaces, ready to be bound to slots. What could carry something from one
// launch to the next is prepared to be cleared: workspaces, shared memory, local memory. Module
// variables need no clearing, because the oracle admits no image with writable ones (oracle.cc).
Result<Callable> PlanCallable(const Bench& bench, const MappedArena& arena,
                              const LoadCommand& command, std::string_view image) {
  const int sm_count = bench.context.device().sm_count;
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  const ResolvedPlan resolved =
      TRY(Resolve(*command.plan, arena.memory.task, arena.memory.workload.sizes, sm_count,
                  plan::OccupancyOf(*module, sm_count)));
  auto plans = std::make_shared<std::vector<plan::PreparedPlan>>();
  plans->push_back(TRY(plan::PreparedPlan::Prepare(resolved, module)));
  // Zeroed workspaces are cleared by every execution; only the others could carry something over.
  const bool carries = std::any_of(resolved.workspaces.begin(), resolved.workspaces.end(),
                                   [](const ResolvedWorkspace& w) { return !w.zero; });
  const int64_t bytes = std::max<int64_t>(1, plans->front().workspace_bytes());
  const int64_t replicas = std::min<int64_t>(command.replicas, 1 + kMaxReplicaBytes / bytes);
  // Launches of one batch may overlap, and none may find another's results: each has workspaces of
  // its own, as far as memory goes.
  for (int64_t copy = 1; carries && copy < replicas; ++copy) {
    plans->push_back(TRY(plan::PreparedPlan::Prepare(resolved, module)));
  }
  Callable callable;
  callable.bind = [plans](std::span<const plan::Binding> bindings, int launch) -> Result<Enqueue> {
    const auto& plan = (*plans)[static_cast<size_t>(launch) % plans->size()];
    auto bound = std::make_shared<plan::BoundPlan>(TRY(plan.Bind(bindings)));
    return Enqueue([bound](const cuda::Stream& stream) { return bound->Execute(stream); });
  };
  callable.reset_workspaces = [plans](const cuda::Stream& stream) -> Status {
    for (const plan::PreparedPlan& plan : *plans) TRY(plan.PoisonWorkspaces(0xff, stream));
    return {};
  };
  int64_t local_bytes = 0;
  for (const ResolvedOperation& operation : resolved.operations) {
    const auto* launch = std::get_if<ResolvedLaunch>(&operation);
    if (launch == nullptr) continue;
    const cuda::Function kernel = TRY(module->Kernel(launch->kernel));
    const int64_t bytes = TRY(cuda::LocalBytesPerThread(kernel));
    if (bytes > 0) local_bytes = std::max(local_bytes, bytes + kSpareStackBytes);
  }
  callable.clear_notes = [kernels = bench.kernels, local_bytes,
                          count = bench.flood_count()](const cuda::Stream& stream) {
    return kernels.RunFlood(local_bytes, count, stream);
  };
  // Its first launch makes the context's local memory as large as it needs: not within a capture.
  TRY(callable.clear_notes(bench.stream));
  TRY(bench.context.Synchronize());
  callable.begins_early = BeginsEarly(*command.plan);
  return callable;
}

// --- Libraries' baselines.

// A JSON array of choices: the ways in which the name's library can compute the arena's product.
Result<std::string> ListEntrants(const MappedArena& arena, const EntrantsCommand& command) {
  TRY(CheckProduct(arena, command.name));
  const baseline::GemmBaselineName name = TRY(baseline::ParseGemmBaselineName(command.name));
  const GemmShape& problem = *arena.problem.gemm;
  const cuda::HalfType type = plan::HalfTypeOf(problem.dtype);
  std::vector<baseline::GemmBaselineChoice> entrants;
  if (name.library == baseline::GemmLibrary::kThirdParty) {
    const auto layout = problem.transposed ? cuda::GemmLayout::kTN : cuda::GemmLayout::kNN;
    baseline::GemmBaselineChoice choice;
    choice.name = name;
    choice.shape = {problem.m, problem.n, problem.k, layout, type};
    choice.library = TRY(baseline::ThirdPartyVersion(name.path));
    entrants.push_back(std::move(choice));
  } else {
    baseline::EntrantOptions options;
    options.exhaustive_seconds = command.exhaustive_seconds;
    entrants = TRY(baseline::Entrants(name, {problem.m, problem.n, problem.k, type}, options));
  }
  nlohmann::json list = nlohmann::json::array();
  for (const baseline::GemmBaselineChoice& choice : entrants) {
    list.push_back(baseline::ToJson(choice));
  }
  return JsonText(list);
}

// Has run once when it returns, on the arena's first slots: what a library does at its first call
// is not timed.
Result<Callable> MakeBaseline(const Bench& bench, const MappedArena& arena,
                              const BaselineCommand& command, baseline::SharedHandles& shared) {
  TRY(CheckProduct(arena, command.name));
  const auto choice = TRY(baseline::GemmBaselineChoiceFromText(command.choice));
  auto product =
      std::make_shared<plan::TimedCallable>(TRY(baseline::MakeGemmBaseline(choice, shared)));
  Callable callable;
  callable.bind = [product](std::span<const plan::Binding> bindings, int) -> Result<Enqueue> {
    constexpr std::array<const char*, 3> kNames = {"A", "B", "C"};  // the baselines' own names
    std::vector<plan::Binding> renamed(bindings.begin(), bindings.end());
    for (size_t role = 0; role < kNames.size(); ++role) renamed.at(role).tensor = kNames[role];
    return Enqueue([product, renamed](const cuda::Stream& stream) {
      return product->enqueue(stream, renamed);
    });
  };
  callable.reset_workspaces = [](const cuda::Stream&) { return Status{}; };
  callable.clear_notes = callable.reset_workspaces;
  TRY(RunOnce(bench, arena, callable));
  return callable;
}

class RunnerSession {
 public:
  explicit RunnerSession(int64_t (*host_ns)()) : host_ns_(host_ns) {}

  Result<Reply> Run(const StartCommand& command, const Frame& frame);
  Result<Reply> Run(const ArenaCommand& command, const Frame& frame);
  Result<Reply> Run(const LoadCommand& command, const Frame& frame);
  Result<Reply> Run(const EntrantsCommand& command, const Frame& frame);
  Result<Reply> Run(const BaselineCommand& command, const Frame& frame);
  Result<Reply> Run(const CheckCommand& command, const Frame& frame);
  Result<Reply> Run(const SampleCommand& command, const Frame& frame);

 private:
  Result<const Callable*> Find(const std::string& name) const;

  int64_t (*host_ns_)();
  std::optional<Bench> bench_;
  std::optional<MappedArena> arena_;
  baseline::SharedHandles libraries_;
  std::map<std::string, Callable> callables_;
};

}  // namespace

std::vector<plan::Binding> BindingsOf(const MappedArena& arena, const WireLaunch& launch) {
  std::vector<plan::Binding> bindings;
  for (size_t role = 0; role < arena.slots.size(); ++role) {
    bindings.push_back(BindingOf(arena, role, arena.slots[role].AddressOf(launch.at(role))));
  }
  return bindings;
}

// Every bit of the inputs is turned around, and after the delay turned back. A kernel that is
// launched programmatically begins during the delay; where it does not wait for its inputs, it
// computes from the wrong ones, and the check of its output finds that.
Status WriteInputsLate(const Bench& bench, const MappedArena& arena,
                       const std::vector<plan::Binding>& bindings) {
  constexpr uint32_t kDelayUs = 500;
  FlipParameters inputs;
  const size_t count = std::min(arena.problem.inputs.size(), FlipParameters::kMostTensors);
  for (size_t role = 0; role < count; ++role) {
    inputs.data[role] = bindings.at(role).address;
    inputs.bytes[role] = bindings.at(role).bytes;
  }
  inputs.count = static_cast<int32_t>(count);
  TRY(bench.kernels.RunFlip(inputs, bench.stream));
  inputs.delay_us = kDelayUs;
  return bench.kernels.RunFlip(inputs, bench.stream);
}

Result<Reply> RunnerSession::Run(const StartCommand& command, const Frame& frame) {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(command.device_uuid));
  cuda::Context context = TRY(cuda::Context::Retain(device));
  const int64_t evict_bytes = std::max(kMinEvictBytes, 4 * device.l2_bytes);
  cuda::DeviceBuffer buffer = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(evict_bytes)));
  cuda::DeviceBuffer sink = TRY(cuda::DeviceBuffer::Allocate(256));
  Kernels kernels = TRY(Kernels::Load(frame.payload, device));
  cuda::Stream stream = TRY(cuda::Stream::Create()), side = TRY(cuda::Stream::Create());
  cuda::Event start = TRY(cuda::Event::Create()), end = TRY(cuda::Event::Create());
  bench_.emplace(Bench{std::move(context), std::move(stream), std::move(side), std::move(start),
                       std::move(end), std::move(kernels), std::move(buffer), std::move(sink),
                       host_ns_});
  TRY(cuda::FillAsync(bench_->evict_buffer.address(), 0, bench_->evict_buffer.bytes(),
                      bench_->stream));
  TRY(bench_->context.Synchronize());
  return Reply{};
}

Result<Reply> RunnerSession::Run(const ArenaCommand& command, const Frame& frame) {
  if (!bench_) return OutOfOrder("arena", "start");
  // Before the new arena is mapped: callables hold addresses of the old one.
  callables_.clear();
  arena_.reset();
  arena_ = TRY(MapArena(*bench_, command, frame.descriptors));
  return Reply{};
}

Result<Reply> RunnerSession::Run(const LoadCommand& command, const Frame& frame) {
  if (!arena_) return OutOfOrder("load", "arena");
  if (!command.plan) return OutOfOrder("load", "its plan");
  callables_.erase(command.callee);
  Callable callable = TRY(PlanCallable(*bench_, *arena_, command, frame.payload));
  callables_.emplace(command.callee, std::move(callable));
  return Reply{};
}

Result<Reply> RunnerSession::Run(const EntrantsCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("entrants", "arena");
  return Reply{{}, TRY(ListEntrants(*arena_, command)), {}, 0};
}

Result<Reply> RunnerSession::Run(const BaselineCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("baseline", "arena");
  Callable callable = TRY(MakeBaseline(*bench_, *arena_, command, libraries_));
  callables_.insert_or_assign(command.name, std::move(callable));
  return Reply{};
}

// Outputs are poisoned and memory is cleared as before a timed batch (runner_sample.cc): a kernel
// that counts on what an earlier launch left must fail its check, not only its batches.
Result<Reply> RunnerSession::Run(const CheckCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("check", "arena");
  const Callable* callable = TRY(Find(command.callee));
  const cuda::Stream& stream = bench_->stream;
  const std::vector<plan::Binding> bindings = ExactBindings(*arena_);
  const Enqueue enqueue = TRY(callable->bind(bindings, 0));
  for (size_t role = arena_->problem.inputs.size(); role < arena_->exact.size(); ++role) {
    TRY(bench_->kernels.RunPoison(arena_->exact[role], command.poison, stream));
  }
  TRY(callable->clear_notes(stream));
  TRY(callable->reset_workspaces(stream));
  if (callable->begins_early) TRY(WriteInputsLate(*bench_, *arena_, bindings));
  TRY(enqueue(stream));
  TRY(bench_->context.Synchronize());
  return Reply{};
}

Result<Reply> RunnerSession::Run(const SampleCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("sample", "arena");
  const Callable* callable = TRY(Find(command.callee));
  for (const auto* launches : {&command.touch, &command.timed}) {
    for (const WireLaunch& launch : *launches) {
      bool fits = launch.size() == arena_->slots.size();
      for (size_t role = 0; fits && role < launch.size(); ++role) {
        fits = launch[role] < arena_->slots[role].slots;
      }
      if (!fits) return Error{ErrorCode::kInternal, "judge command 'sample': no such slot", ""};
    }
  }
  return Reply{TRY(RunSample(*bench_, *arena_, *callable, command)), {}, {}, 0};
}

Result<const Callable*> RunnerSession::Find(const std::string& name) const {
  const auto found = callables_.find(name);
  if (found == callables_.end()) return OutOfOrder("check or sample", name);
  return &found->second;
}

int RunnerMain(int socket, int64_t (*host_ns)()) {
  RunnerSession session(host_ns);
  return AnswerUntilClosed(socket, [&](const Frame& frame) { return AnswerOf(session, frame); });
}

}  // namespace warpsmith::judge
