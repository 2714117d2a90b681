#include "judge/program_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/serialize.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/visible_device.h"
#include "judge/program_library.h"
#include "judge/program_sandbox.h"
#include "judge/wire_error.h"

namespace warpsmith::judge {
namespace {

Error NotHere(std::string_view command) {
  return Error{ErrorCode::kInternal,
               fmt::format("judge command '{}' is for a reference's process", command), ""};
}

Result<LaunchPlan> PlanFromText(const std::string& text) {
  const nlohmann::json json = TRY(ParseJson("judge command 'load'", text));
  return LaunchPlanFrom(JsonReader("judge command 'load'", json));
}

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

}  // namespace

void* ProgramSession::MappedRegion::AddressOf(int64_t slot) const {
  const int64_t offset = region.offset_bytes + slot * region.stride_bytes;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): device addresses are integers
  return reinterpret_cast<void*>(base + static_cast<uint64_t>(offset));
}

PeerReplyOrError ProgramSession::Handle(const Frame& frame) {
  const auto reply = [&]() -> Result<PeerReply> {
    const PeerCommand command = TRY(PeerCommandFromText(frame.header));
    return std::visit([&](const auto& c) { return Run(c, frame); }, command);
  }();
  for (int descriptor : frame.descriptors) close(descriptor);
  if (!reply.ok()) return reply.error();
  return reply.value();
}

Result<PeerReply> ProgramSession::Run(const PeerStart& command, const Frame&) {
  PeerReply reply;
  reply.sandbox = TRY(EnterProgramSandbox(command, socket_));
  cuda::SeeOnlyDevice(command.device_uuid);
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  context_.emplace(TRY(cuda::Context::Retain(TRY(driver->FindDevice(command.device_uuid)))));
  return reply;
}

// The library comes before the arena: what runs while it is loaded finds no buffers.
Result<PeerReply> ProgramSession::Run(const PeerLoad& command, const Frame& frame) {
  if (!context_) return OutOfOrder("load", "start");
  if (command.callee == "plan") {
    pending_ = PendingPlan{TRY(PlanFromText(command.entry)), frame.payload};
    return PeerReply{};
  }
  program_ = TRY(LoadProgram(frame.payload, command.entry));
  TRY(context_->MakeCurrent());
  return PeerReply{fmt::format("{} bytes", frame.payload.size()), "", 0};
}

Result<PeerReply> ProgramSession::Run(const PeerArena& command, const Frame& frame) {
  if (!context_) return OutOfOrder("arena", "start");
  const size_t count = command.regions.size() + command.exact.size();
  if (frame.descriptors.size() != count || command.exact.size() != command.task.tensors.size()) {
    return Error{ErrorCode::kInternal,
                 fmt::format("judge command 'arena': {} regions and {} descriptors", count,
                             frame.descriptors.size()),
                 ""};
  }
  task_ = command.task;
  workload_ = command.workload;
  slots_.clear();
  exact_.clear();
  mappings_.clear();
  size_t next = 0;
  for (const PeerRegion& region : command.regions) {
    slots_.push_back(TRY(Map(region, frame.descriptors[next++])));
  }
  for (const PeerRegion& region : command.exact) {
    exact_.push_back(TRY(Map(region, frame.descriptors[next++])));
  }
  return PeerReply{};
}

Result<ProgramSession::MappedRegion> ProgramSession::Map(const PeerRegion& region, int descriptor) {
  const cuda::DeviceProperties& device = context_->device();
  const cuda::MappingOptions options{cuda::Access::kReadWrite, TRY(cuda::SharedGranularity(device)),
                                     0};
  const auto memory = TRY(
      cuda::PhysicalMemory::Import(device, descriptor, static_cast<size_t>(region.mapped_bytes)));
  mappings_.push_back(TRY(cuda::Mapping::Map(memory, options)));
  return MappedRegion{region, mappings_.back().address()};
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
    plan_ = TRY(PlanCall::Prepare(pending_->plan, pending_->image, task_, workload_, *context_));
    pending_.reset();
  }
  if (!plan_) return OutOfOrder("check or burst", "load");
  return Call([this](const std::vector<void*>& tensors) -> Status {
    std::vector<plan::Binding> bindings;
    for (size_t i = 0; i < tensors.size(); ++i) {
      bindings.push_back({task_.tensors[i].name, reinterpret_cast<cuda::DevicePointer>(tensors[i]),
                          exact_[i].region.bytes});
    }
    return (*plan_)(bindings);
  });
}

Result<PeerReply> ProgramSession::Run(const PeerCheck& command, const Frame&) {
  if (exact_.empty()) return OutOfOrder("check", "arena");
  const Call call = TRY(CalleeOf(command.callee));
  std::vector<void*> tensors;
  for (const MappedRegion& region : exact_) tensors.push_back(region.AddressOf(0));
  TRY(call(tensors));
  TRY(context_->Synchronize());
  return PeerReply{};
}

Result<PeerReply> ProgramSession::Run(const PeerBurst& command, const Frame& frame) {
  if (slots_.empty()) return OutOfOrder("burst", "arena");
  if (frame.descriptors.size() != 1) return OutOfOrder("burst", "its page");
  const Call call = TRY(CalleeOf(command.callee));
  BurstPage page = TRY(BurstPage::Map(frame.descriptors.front()));
  if (page.roles() != slots_.size()) return OutOfOrder("burst", "an arena of as many tensors");
  if (!command.trace) {
    TRY(RunCalls(command, page, call));
    return PeerReply{};
  }
  cuda::KernelTrace trace = TRY(cuda::KernelTrace::Start(cuda::Traced::kEverything));
  TRY(RunCalls(command, page, call));
  const double busy_us = BusyUs(TRY(trace.StopAll()));
  return PeerReply{"", "", busy_us / static_cast<double>(command.calls)};
}

Status ProgramSession::RunCalls(const PeerBurst& burst, BurstPage& page, const Call& call) const {
  std::vector<void*> tensors(slots_.size());
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
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots[i] >= slots_[i].region.slots) {
      return Error{ErrorCode::kInternal, fmt::format("no slot {} of tensor {}", slots[i], i), ""};
    }
    tensors[i] = slots_[i].AddressOf(slots[i]);
  }
  return {};
}

Result<PeerReply> ProgramSession::Run(const PeerExpect&, const Frame&) { return NotHere("expect"); }
Result<PeerReply> ProgramSession::Run(const PeerDraw&, const Frame&) { return NotHere("draw"); }

int ProgramMain(int socket) {
  constexpr std::chrono::hours kUntilClosed{24 * 365};
  ProgramSession session(socket);
  while (true) {
    const Result<Frame> frame = ReceiveFrame(socket, kUntilClosed);
    if (!frame.ok()) return 0;  // the oracle has closed or is gone
    if (!SendFrame(socket, PeerReplyToText(session.Handle(*frame))).ok()) return 0;
  }
}

}  // namespace warpsmith::judge
