#include "search/machine/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/display_text.h"
#include "base/file.h"
#include "cuda/driver.h"
#include "judge/kernels.h"
#include "judge/local_device.h"

namespace warpsmith::search {
namespace {

int CompileWorkers() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 2);
}

Result<std::unique_ptr<judge::LocalDevice>> OpenLocal(const DeviceOptions& options,
                                                      Compiler& compiler) {
  judge::LocalDeviceOptions local;
  local.gpu = options.gpu;
  local.lock_patience = std::chrono::seconds(options.wait_seconds);
  local.kernels =
      TRY(judge::BuildJudgeKernels(compiler, TRY(judge::ArchitectureOfGpu(options.gpu))));
  local.compiler = &compiler;
  local.sandboxed = !options.unsandboxed;
  local.libraries = options.libraries;
  return judge::LocalDevice::Open(std::move(local));
}

bool IsLocal(const DeviceOptions& options) {
  if (options.device == "local" || !options.gpu.empty()) return true;
  return options.device == "auto" && cuda::Driver::Open().ok();
}

Result<std::filesystem::path> RecordingPath(const std::string& device) {
  if (device == "auto" || device == "recorded") return ShippedRecordings();
  if (std::filesystem::exists(device)) return std::filesystem::path(device);
  return Error{
      ErrorCode::kUnknownDevice, "--device " + device + " is no file or folder",
      "write auto, local, recorded, the path of a .wsrec file or of a bundle with results, or "
      "http://HOST:PORT of 'warpsmith serve'"};
}

// Options that this device would silently pass over.
Status CheckTogether(const DeviceOptions& options) {
  const std::string& device = options.device;
  if (!options.gpu.empty() && device != "auto" && device != "local") {
    return Error{ErrorCode::kConfig,
                 "--gpu " + options.gpu + " measures here, --device " + device + " does not",
                 "leave one of them out"};
  }
  if (options.names_server() || options.token_file.empty()) return {};
  return Error{ErrorCode::kConfig, "--token-file goes with a server's address",
               "write --device http://HOST:PORT, or leave it out"};
}

}  // namespace

Result<Machine> Machine::Open(const DeviceOptions& options) {
  TRY(CheckTogether(options));
  Machine machine;
  machine.store_path_ = options.store;
  machine.sandboxed_ = !options.unsandboxed;
  compile::CompilerOptions compiler;
  compiler.workers = CompileWorkers();
  machine.compiler_ = std::make_unique<compile::WorkerCompiler>(compiler);
  if (IsLocal(options)) {
    auto local = TRY(OpenLocal(options, *machine.compiler_));
    machine.local_ = local.get();
    machine.device_ = std::move(local);
    machine.notice_ = "measuring on " + machine.info().name + " (" + machine.info().uuid + ")";
    return machine;
  }
  if (options.names_server()) {
    ServerOptions server;
    server.url = options.device;
    server.token_file = options.token_file;
    server.plain_http = options.plain_http;
    auto served = TRY(ServedDevice::Connect(server));
    machine.served_ = served.get();
    machine.recorded_ = served->recorded();
    machine.device_ = std::move(served);
    machine.notice_ =
        options.device +
        (machine.recorded_ == nullptr ? " measures on " : " replays measurements recorded on ") +
        ForTerminal(machine.info().name) + " (" +
        ForTerminal(machine.recorded_ == nullptr ? machine.info().uuid : machine.info().origin) +
        ")";
    return machine;
  }
  auto recorded = TRY(store::RecordedDevice::Open(TRY(RecordingPath(options.device))));
  machine.recorded_ = recorded.get();
  if (options.device == "auto") recorded->StandInForGpu();
  machine.device_ = std::move(recorded);
  machine.notice_ = std::string(options.device == "auto" ? "no NVIDIA GPU here: " : "") +
                    "replaying measurements recorded on " + machine.info().name + " (" +
                    machine.info().origin + ")";
  return machine;
}

Result<store::DatabaseStore*> Machine::store() {
  if (store_ == nullptr) {
    store_ = TRY(OpenStore(store_path_, recorded_ == nullptr ? store::Durability::kPowerLoss
                                                             : store::Durability::kProcessDeath));
  }
  return store_.get();
}

Result<Seams> Machine::seams() { return Seams{device(), loop_compiler(), TRY(store())}; }

Status Machine::NeedsLocal(const std::string& what) const {
  if (local_ != nullptr) return {};
  const bool none = recorded_ != nullptr && recorded_->stands_in();
  return Error{ErrorCode::kUnavailable,
               what + " a GPU of this machine" + (none ? ", and none is here" : "; " + notice_),
               "run it where 'warpsmith doctor' finds one"};
}

std::string Machine::UseLine() const {
  if (local_ == nullptr) return "";
  const judge::DeviceUse use = local_->Use();
  return fmt::format("measuring {:.0f} % of the {:.0f} s the GPU was held",
                     100 * use.measuring_seconds / std::max(use.held_seconds, 1e-9),
                     use.held_seconds);
}

Result<Machine*> LazyMachine::Get() {
  if (machine_ == nullptr) {
    machine_ = std::make_unique<Machine>(TRY(Machine::Open(options_)));
    std::fprintf(stderr, "%s\n", machine_->notice().c_str());
  }
  return machine_.get();
}

std::string StorePath(const std::string& option) {
  return option.empty() ? (DataHome() / "warpsmith.db").string() : option;
}

Result<std::unique_ptr<store::DatabaseStore>> OpenStore(const std::string& option,
                                                        store::Durability durability) {
  return store::DatabaseStore::Open(StorePath(option), durability);
}

Result<std::unique_ptr<store::DatabaseStore>> OpenExistingStore(const std::string& option) {
  return store::DatabaseStore::Open(StorePath(option), store::Durability::kProcessDeath,
                                    store::WhenMissing::kRefuse);
}

Result<std::filesystem::path> ShippedRecordings() { return FindShippedFile("data/recordings"); }

}  // namespace warpsmith::search
