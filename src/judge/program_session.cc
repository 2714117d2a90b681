#include "judge/program_session.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/spawn.h"
#include "core/resolved_plan.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/library.h"
#include "cuda/module.h"
#include "judge/audit/image_rules.h"

namespace warpsmith::judge {
namespace {

namespace fs = std::filesystem;

sandbox::Level LevelOf(const std::string& name) {
  if (name == sandbox::Name(sandbox::Level::kL2)) return sandbox::Level::kL2;
  if (name == sandbox::Name(sandbox::Level::kL1)) return sandbox::Level::kL1;
  return sandbox::Level::kNone;
}

// Where the toolkit's libraries may be, under every name.
std::vector<fs::path> ToolkitFolders() {
  std::vector<fs::path> folders;
  for (const std::string& candidate :
       cuda::LibraryCandidates("libcudart.so.13", cuda::RootsFromEnvironment())) {
    const fs::path folder = fs::path(candidate).parent_path();
    if (!folder.is_absolute()) continue;
    folders.push_back(folder);
    std::error_code absent;
    const fs::path real = fs::canonical(folder, absent);
    if (!absent && real != folder) folders.push_back(real);
  }
  return folders;
}

sandbox::Policy PolicyOf(const StartCommand& command, int socket) {
  sandbox::Policy policy;
  policy.wanted = LevelOf(command.sandbox);
  sandbox::AllowLibraries(&policy);
  sandbox::AllowGpu(&policy, command.device_uuid);
  for (const fs::path& folder : ToolkitFolders()) policy.executable.push_back(folder);
  policy.hidden.assign(command.hidden.begin(), command.hidden.end());
  policy.descriptors = {socket};
  policy.limits = ProgramLimits();
  return policy;
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

// Before CUDA is opened. The level reached ("L1"); `socket` stays open.
Result<std::string> EnterProgramSandbox(const StartCommand& command, int socket) {
  if (LevelOf(command.sandbox) == sandbox::Level::kNone) {
    return std::string(sandbox::Name(sandbox::Level::kNone));
  }
  const sandbox::Reached reached = TRY(sandbox::EnterOrRefuse(PolicyOf(command, socket)));
  return std::string(sandbox::Name(reached.level));
}

}  // namespace

sandbox::Limits ProgramLimits() {
  // At L1 the user's other processes count, too, and compilers come and go with every core.
  constexpr int64_t kMostThreads = 2048, kMostOpenFiles = 1024;
  constexpr int64_t kMostFileBytes = int64_t{64} << 20;
  sandbox::Limits limits;
  limits.processes = kMostThreads;
  limits.open_files = kMostOpenFiles;
  limits.file_bytes = kMostFileBytes;
  limits.data_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 2;
  return limits;
}

namespace {

// Of the toolkit a program needs the runtime, and the judge's tracing what it loads.
bool IsNeededOfToolkit(const std::string& file) {
  constexpr std::array<std::string_view, 5> kNeeded = {"libcudart.", "libcupti.", "libnvperf",
                                                       "libcheckpoint.", "libpcsamplingutil."};
  return std::any_of(kNeeded.begin(), kNeeded.end(),
                     [&](std::string_view begin) { return file.starts_with(begin); });
}

// Libraries lie side by side with the system's where the toolkit is a package of the system.
bool IsOfTheSystem(const fs::path& folder) {
  const std::string path = folder.string() + "/";
  return path.starts_with("/lib") || path.starts_with("/usr/lib");
}

// The toolkit's libraries that no list knows.
void HideUnknownLibraries(std::vector<std::string>* hidden) {
  for (const fs::path& folder : ToolkitFolders()) {
    if (IsOfTheSystem(folder)) continue;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string file = entry.path().filename();
      const bool is_library = file.starts_with("lib") && file.find(".so") != std::string::npos;
      if (!is_library || IsNeededOfToolkit(file) || audit::FamilyOfFile(file) != nullptr) continue;
      hidden->push_back(entry.path());
    }
  }
}

}  // namespace

std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow) {
  const bool allows_some = std::any_of(allow.begin(), allow.end(),
                                       [](const std::string& name) { return name != "dlopen"; });
  std::vector<std::string> hidden;
  for (const audit::LibraryFamily& family : audit::LibraryFamilies()) {
    // cuSPARSE and cuDNN, say, compile with it what they run.
    const bool serves_others = family.name == "nvrtc" && allows_some;
    if (serves_others || audit::Allows(allow, family.name)) continue;
    for (const std::string_view file : family.files) hidden.push_back(std::string(file) + "*");
  }
  // What is allowed may need others of them.
  if (!allows_some) HideUnknownLibraries(&hidden);
  return hidden;
}

std::vector<std::string> HiddenLibraryFiles(const std::vector<std::string>& allow) {
  struct Look {
    double at_s = 0;
    std::vector<std::string> files;
  };
  constexpr double kGoodForSeconds = 60;
  thread_local std::map<std::vector<std::string>, Look> looks;
  Look& look = looks[allow];
  if (look.files.empty() || MonotonicSeconds() - look.at_s > kGoodForSeconds) {
    const auto files = sandbox::FilesMatching(PolicyOf({}, -1), HiddenLibraries(allow));
    look = {MonotonicSeconds(), {files.begin(), files.end()}};
  }
  return look.files;
}

Result<Reply> ProgramSession::Run(const StartCommand& command, const Frame&) {
  Reply reply;
  reply.sandbox = TRY(EnterProgramSandbox(command, socket_));
  cuda::UseOnlyDevice(command.device_uuid);
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
  cuda::KernelTrace trace = TRY(cuda::KernelTrace::Start());
  TRY(RunCalls(command, page, call));
  const double busy_us = BusyUs(TRY(trace.Stop()));
  return Reply{{}, "", "", busy_us / static_cast<double>(command.calls)};
}

Status ProgramSession::RunCalls(const BurstCommand& burst, BurstPage& page,
                                const Call& call) const {
  std::vector<void*> tensors(memory_->slots.size());
  for (uint32_t i = 0; i < burst.calls; ++i) {
    SpinWait waiting;
    while (page.released() != i + 1) {
      waiting.Turn();
      waiting.ShouldCheckPeer();
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
