#include "judge/program_session.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/spawn.h"
#include "core/resolved_plan.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/module.h"
#include "cuda/visible_device.h"
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

Error NotLoaded(const std::string& what, const std::string& why) {
  return Error{ErrorCode::kBadInput, fmt::format("loading the program: {}: {}", what, why), ""};
}

Status WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return NotLoaded("writing its library to memory", std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return {};
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
    plan_ = LoadedPlan{*command.plan, frame.payload};
    return Reply{};
  }
  program_ = TRY(LoadLibrary(frame.payload, command.entry));
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

// Runs the library's static initialisers. It is never unloaded.
Result<ProgramSession::ProgramCall> ProgramSession::LoadLibrary(std::string_view image,
                                                                const std::string& entry) {
  const FileDescriptor file(memfd_create("program.so", MFD_CLOEXEC));
  if (file.number() < 0) return NotLoaded("memfd_create", std::strerror(errno));
  TRY(WriteAll(file.number(), image));
  const std::string path = fmt::format("/proc/self/fd/{}", file.number());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotLoaded("dlopen", dlerror());  // NOLINT(concurrency-mt-unsafe)
  void* symbol = dlsym(library, entry.c_str());
  if (symbol == nullptr) return NotLoaded("no symbol", entry);
  return reinterpret_cast<ProgramCall>(symbol);
}

Result<ProgramSession::Call> ProgramSession::CalleeOf(const std::string& name) {
  if (name == "null") return Call([](const std::vector<void*>&) { return Status{}; });
  if (name != "plan") {
    if (program_ == nullptr) return OutOfOrder("check or burst", "load");
    return Call([call = program_](const std::vector<void*>& tensors) -> Status {
      call(tensors.data());
      return {};
    });
  }
  if (!plan_) return OutOfOrder("check or burst", "load");
  if (!plan_->prepared) TRY(PreparePlan());
  // As a user of the plan would call it: bound to its tensors and submitted by each call.
  return Call([this](const std::vector<void*>& tensors) -> Status {
    std::vector<plan::Binding> bindings;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const WireRegion& region = memory_->exact[i].region;
      bindings.push_back(
          {region.tensor, reinterpret_cast<cuda::DevicePointer>(tensors[i]), region.bytes});
    }
    return plan_->prepared->Execute(*plan_->stream, bindings);
  });
}

Status ProgramSession::PreparePlan() {
  const int sm_count = context_->device().sm_count;
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(plan_->image)));
  ResolvedPlan resolved = TRY(Resolve(plan_->plan, memory_->task, memory_->workload.sizes, sm_count,
                                      plan::OccupancyOf(*module, sm_count)));
  plan_->prepared = TRY(plan::PreparedPlan::Prepare(std::move(resolved), std::move(module)));
  plan_->stream = TRY(cuda::Stream::Create());
  return {};
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
