#include "judge/program_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/visible_device.h"
#include "judge/program_library.h"
#include "judge/program_sandbox.h"

namespace warpsmith::judge {
namespace {

// Time in which at least one kernel or transfer ran, overlaps counted once.
double BusyUs(const cuda::ActivityRecords& records) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const auto& kernel : records.kernels) spans.emplace_back(kernel.start_ns, kernel.end_ns);
  for (const auto& copy : records.transfers) spans.emplace_back(copy.start_ns, copy.end_ns);
  std::sort(spans.begin(), spans.end());
  int64_t busy_ns = 0, until_ns = 0;
  for (const auto& [start_ns, end_ns] : spans) {
    busy_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, until_ns));
    until_ns = std::max(until_ns, end_ns);
  }
  return static_cast<double>(busy_ns) * 1e-3;
}

void* PointerTo(const MappedRegion& region, int64_t slot) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): device addresses are integers
  return reinterpret_cast<void*>(region.AddressOf(slot));
}

}  // namespace

Result<Reply> ProgramSession::Run(const StartCommand& command, const Frame&) {
  Reply reply;
  reply.sandbox = TRY(EnterProgramSandbox(command, socket_));
  cuda::SeeOnlyDevice(command.device_uuid);
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  context_.emplace(TRY(cuda::Context::Retain(TRY(driver->FindDevice(command.device_uuid)))));
  return reply;
}

// The library comes before the arena: what runs while it is loaded finds no buffers.
Result<Reply> ProgramSession::Run(const LoadCommand& command, const Frame& frame) {
  if (!context_) return OutOfOrder("load", "start");
  if (command.callee == "plan") {
    if (!command.plan) return OutOfOrder("load", "its plan");
    pending_ = PendingPlan{*command.plan, frame.payload};
    return Reply{};
  }
  program_ = TRY(LoadProgram(frame.payload, command.entry));
  TRY(context_->MakeCurrent());
  Reply reply;
  reply.text = fmt::format("{} bytes", frame.payload.size());
  return reply;
}

Result<Reply> ProgramSession::Run(const ArenaCommand& command, const Frame& frame) {
  if (!context_) return OutOfOrder("arena", "start");
  memory_.reset();
  memory_ = TRY(MapMemory(command, frame.descriptors, context_->device()));
  return Reply{};
}

Result<ProgramSession::Call> ProgramSession::CalleeOf(const std::string& name) {
  if (name == "null") return Call([](const std::vector<void*>&) { return Status{}; });
  if (name == "plan") return PreparedPlanCall();
  if (program_ == nullptr) return OutOfOrder("check or burst", "load");
  return Call([call = program_](const std::vector<void*>& tensors) -> Status {
    call(tensors.data());
    return {};
  });
}

Result<ProgramSession::Call> ProgramSession::PreparedPlanCall() {
  if (pending_) {
    plan_ = TRY(PlanCall::Prepare(pending_->plan, pending_->image, memory_->task, memory_->workload,
                                  *context_));
    pending_.reset();
  }
  if (!plan_) return OutOfOrder("check or burst", "load");
  return Call([this](const std::vector<void*>& tensors) -> Status {
    std::vector<plan::Binding> bindings;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const WireRegion& region = memory_->exact[i].region;
      bindings.push_back(
          {region.tensor, reinterpret_cast<cuda::DevicePointer>(tensors[i]), region.bytes});
    }
    return (*plan_)(bindings);
  });
}

Result<Reply> ProgramSession::Run(const CheckCommand& command, const Frame&) {
  if (!memory_) return OutOfOrder("check", "arena");
  const Call call = TRY(CalleeOf(command.callee));
  std::vector<void*> tensors;
  for (const MappedRegion& region : memory_->exact) tensors.push_back(PointerTo(region, 0));
  TRY(call(tensors));
  TRY(context_->Synchronize());
  return Reply{};
}

Result<Reply> ProgramSession::Run(const BurstCommand& command, const Frame& frame) {
  if (!memory_ || memory_->slots.empty()) return OutOfOrder("burst", "arena");
  if (frame.descriptors.size() != 1) return OutOfOrder("burst", "its page");
  const Call call = TRY(CalleeOf(command.callee));
  BurstPage page = TRY(BurstPage::Map(frame.descriptors.front()));
  if (page.roles() != memory_->slots.size())
    return OutOfOrder("burst", "an arena of as many tensors");
  if (!command.trace) {
    TRY(RunCalls(command, page, call));
    return Reply{};
  }
  cuda::KernelTrace trace = TRY(cuda::KernelTrace::Start(cuda::Traced::kEverything));
  TRY(RunCalls(command, page, call));
  const double busy_us = BusyUs(TRY(trace.StopAll()));
  return Reply{{}, "", "", busy_us / static_cast<double>(command.calls)};
}

Status ProgramSession::RunCalls(const BurstCommand& burst, BurstPage& page,
                                const Call& call) const {
  std::vector<void*> tensors(memory_->slots.size());
  for (uint32_t i = 0; i < burst.calls; ++i) {
    Waiting waiting;
    while (page.released() != i + 1) {
      if (page.released() == kBurstAbort) return {};
      waiting.Turn();
      waiting.LookAround();
    }
    TRY(PrepareCall(page.slots(), tensors));
    TRY(call(tensors));
    TRY(context_->Synchronize());
    page.AnnounceDone(i);
  }
  return {};
}

Status ProgramSession::PrepareCall(std::span<const uint32_t> slots,
                                   std::vector<void*>& tensors) const {
  for (size_t i = 0; i < memory_->slots.size(); ++i) {
    if (slots[i] >= memory_->slots[i].region.slots) {
      return Error{ErrorCode::kInternal, fmt::format("no slot {} of tensor {}", slots[i], i), ""};
    }
    tensors[i] = PointerTo(memory_->slots[i], slots[i]);
  }
  return {};
}

int ProgramMain(int socket) {
  ProgramSession session(socket);
  return AnswerUntilClosed(socket, [&](const Frame& frame) { return AnswerOf(session, frame); });
}

}  // namespace warpsmith::judge
