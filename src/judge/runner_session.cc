#include "judge/runner_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/resolved_plan.h"
#include "cuda/driver.h"
#include "judge/runner_baseline.h"

namespace warpsmith::judge {
namespace {

constexpr int64_t kMinEvictBytes = int64_t{128} << 20;
constexpr int64_t kMaxReplicaBytes = int64_t{4} << 30;

Error OutOfOrder(std::string_view command, std::string_view missing) {
  return Error{ErrorCode::kInternal,
               fmt::format("judge command '{}' came before '{}'", command, missing), ""};
}

Result<MappedArena> MapArena(const Bench& bench, const ArenaCommand& command,
                             const std::vector<int>& descriptors) {
  if (command.mapped_bytes.size() != 2 * kRoles || descriptors.size() != 2 * kRoles) {
    return Error{ErrorCode::kInternal,
                 fmt::format("judge command 'arena': {} sizes and {} descriptors, expected {}",
                             command.mapped_bytes.size(), descriptors.size(), 2 * kRoles),
                 ""};
  }
  MappedArena arena{
      command.task, command.workload, TRY(ProblemOf(command.task, command.workload)), {}, {}, {}};
  const cuda::DeviceProperties& device = bench.context.device();
  const cuda::MappingOptions options{cuda::Access::kReadWrite, TRY(cuda::SharedGranularity(device)),
                                     0};
  for (size_t i = 0; i < descriptors.size(); ++i) {
    const auto memory = TRY(cuda::PhysicalMemory::Import(
        device, descriptors[i], static_cast<size_t>(command.mapped_bytes[i])));
    arena.mappings.push_back(TRY(cuda::Mapping::Map(memory, options)));
  }
  for (size_t role = 0; role < kRoles; ++role) {
    const bool output = role == kInputs;
    const int64_t bytes = output ? arena.problem.output_bytes : arena.problem.input_bytes.at(role);
    arena.slots.at(role) = MakeRegion(output ? command.output_slots : command.input_slots, bytes);
    arena.slots.at(role).base = arena.mappings[role].address();
    const cuda::Mapping& exact = arena.mappings[kRoles + role];
    arena.exact.at(role) = MakeExactRegion(bytes, static_cast<int64_t>(exact.bytes()));
    arena.exact.at(role).base += exact.address();
  }
  return arena;
}

std::vector<launch::Binding> Bindings(const MappedArena& arena,
                                      const std::array<uint64_t, kRoles>& addresses) {
  const GemmProblem& problem = arena.problem;
  return {{problem.inputs[0], addresses[0], problem.input_bytes[0]},
          {problem.inputs[1], addresses[1], problem.input_bytes[1]},
          {problem.output, addresses[2], problem.output_bytes}};
}

Result<Contender> PlanContender(const Bench& bench, const MappedArena& arena,
                                const CandidateCommand& command, std::string_view image) {
  const int sm_count = bench.context.device().sm_count;
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  const ResolvedPlan resolved = TRY(Resolve(command.plan, arena.task, arena.workload.sizes,
                                            sm_count, launch::OccupancyOf(*module, sm_count)));
  auto plans = std::make_shared<std::vector<launch::PreparedPlan>>();
  plans->push_back(TRY(launch::PreparedPlan::Prepare(resolved, module)));
  // Zeroed workspaces are cleared by every execution; only the others could carry something over.
  const bool carries = std::any_of(resolved.workspaces.begin(), resolved.workspaces.end(),
                                   [](const ResolvedWorkspace& w) { return !w.zero; });
  const int64_t bytes = std::max<int64_t>(1, plans->front().workspace_bytes());
  const int64_t replicas = std::min<int64_t>(command.replicas, 1 + kMaxReplicaBytes / bytes);
  for (int64_t copy = 1; carries && copy < replicas; ++copy) {
    plans->push_back(TRY(launch::PreparedPlan::Prepare(resolved, module)));
  }
  Contender contender;
  contender.bind = [plans](std::span<const launch::Binding> bindings,
                           int launch) -> Result<Enqueue> {
    const auto& plan = (*plans)[static_cast<size_t>(launch) % plans->size()];
    auto bound = std::make_shared<launch::BoundPlan>(TRY(plan.Bind(bindings)));
    return Enqueue([bound](const cuda::Stream& stream) { return bound->Execute(stream); });
  };
  contender.reset_workspaces = [plans](const cuda::Stream& stream) -> Status {
    for (const launch::PreparedPlan& plan : *plans) TRY(plan.PoisonWorkspaces(0xff, stream));
    return {};
  };
  return contender;
}

}  // namespace

std::vector<launch::Binding> BindingsOf(const MappedArena& arena, const WireLaunch& launch) {
  return Bindings(arena, {arena.slots[0].AddressOf(launch[0]), arena.slots[1].AddressOf(launch[1]),
                          arena.slots[2].AddressOf(launch[2])});
}

ReplyOrError RunnerSession::Handle(const Frame& frame) {
  const auto reply = [&]() -> Result<Reply> {
    const Command command = TRY(CommandFromText(frame.header));
    return std::visit([&](const auto& c) { return Run(c, frame); }, command);
  }();
  for (int descriptor : frame.descriptors) close(descriptor);
  if (!reply.ok()) return reply.error();
  return reply.value();
}

Result<Reply> RunnerSession::Run(const StartCommand& command, const Frame& frame) {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(command.device_uuid));
  cuda::Context context = TRY(cuda::Context::Retain(device));
  const int64_t evict_bytes = std::max(kMinEvictBytes, 4 * device.l2_bytes);
  cuda::DeviceBuffer buffer = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(evict_bytes)));
  cuda::DeviceBuffer sink = TRY(cuda::DeviceBuffer::Allocate(256));
  Kernels kernels = TRY(Kernels::Load(frame.payload, device.sm_count));
  cuda::Stream stream = TRY(cuda::Stream::Create());
  cuda::Event start = TRY(cuda::Event::Create()), end = TRY(cuda::Event::Create());
  bench_.emplace(Bench{std::move(context), std::move(stream), std::move(start), std::move(end),
                       std::move(kernels), std::move(buffer), std::move(sink)});
  TRY(cuda::FillAsync(bench_->evict_buffer.address(), 0, bench_->evict_buffer.bytes(),
                      bench_->stream));
  TRY(bench_->context.Synchronize());
  return Reply{};
}

Result<Reply> RunnerSession::Run(const ArenaCommand& command, const Frame& frame) {
  if (!bench_) return OutOfOrder("arena", "start");
  contenders_.clear();
  arena_.reset();
  arena_ = TRY(MapArena(*bench_, command, frame.descriptors));
  return Reply{};
}

Result<Reply> RunnerSession::Run(const CandidateCommand& command, const Frame& frame) {
  if (!arena_) return OutOfOrder("candidate", "arena");
  contenders_.erase(std::string(kCandidateName));
  Contender contender = TRY(PlanContender(*bench_, *arena_, command, frame.payload));
  contenders_.emplace(kCandidateName, std::move(contender));
  return Reply{};
}

Result<Reply> RunnerSession::Run(const BaselineCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("baseline", "arena");
  BaselineReady ready = TRY(MakeBaseline(*bench_, *arena_, command));
  contenders_.insert_or_assign(command.name, std::move(ready.contender));
  return Reply{{}, ready.choice};
}

Result<Reply> RunnerSession::Run(const CheckCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("check", "arena");
  const Contender* contender = TRY(Find(command.contender));
  const cuda::Stream& stream = bench_->stream;
  const auto bindings =
      Bindings(*arena_, {arena_->exact[0].AddressOf(0), arena_->exact[1].AddressOf(0),
                         arena_->exact[2].AddressOf(0)});
  const Enqueue enqueue = TRY(contender->bind(bindings, 0));
  TRY(bench_->kernels.RunPoison(arena_->exact[2], command.poison, stream));
  TRY(contender->reset_workspaces(stream));
  TRY(enqueue(stream));
  TRY(bench_->context.Synchronize());
  return Reply{};
}

Result<Reply> RunnerSession::Run(const SampleCommand& command, const Frame&) {
  if (!arena_) return OutOfOrder("sample", "arena");
  const Contender* contender = TRY(Find(command.contender));
  for (const auto* launches : {&command.touch, &command.timed}) {
    for (const WireLaunch& launch : *launches) {
      for (size_t role = 0; role < kRoles; ++role) {
        if (launch[role] < arena_->slots[role].slots) continue;
        return Error{ErrorCode::kInternal,
                     fmt::format("judge command 'sample': no slot {}", launch[role]), ""};
      }
    }
  }
  return Reply{TRY(RunSample(*bench_, *arena_, *contender, command)), {}};
}

Result<const Contender*> RunnerSession::Find(const std::string& name) const {
  const auto found = contenders_.find(name);
  if (found == contenders_.end()) return OutOfOrder("check or sample", name);
  return &found->second;
}

}  // namespace warpsmith::judge
