// Where a command's candidates are judged, and what belongs to it: the composition of device,
// compiler and store.
#ifndef WARPSMITH_SEARCH_MACHINE_MACHINE_H_
#define WARPSMITH_SEARCH_MACHINE_MACHINE_H_

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compile/worker_compiler.h"
#include "core/device.h"
#include "core/store.h"
#include "judge/local_device.h"
#include "search/machine/served_device.h"
#include "search/session.h"
#include "store/database_store.h"
#include "store/recorded_device.h"

namespace warpsmith::search {

// Where candidates are judged. "auto": the GPU here, else the shipped recordings; "local";
// "recorded"; a .wsrec file, a folder of them or a bundle; or the address of a 'warpsmith serve'.
struct DeviceOptions {
  std::string device = "auto";
  std::string gpu;                     // UUID, its beginning, or an index
  std::string store;                   // a path or postgresql://…; empty: StorePath
  int wait_seconds = 0;                // for another measuring process on the GPU; not 0: by turns
  std::string token_file;              // holds the server's token; empty: none is sent
  bool plain_http = false;             // the server may be another machine without https
  bool unsandboxed = false;            // programs run with all that the user may do
  std::vector<std::string> libraries;  // that may be loaded to be compared with: bench --against

  bool names_server() const {
    return device.starts_with("http://") || device.starts_with("https://");
  }
};

class Machine {
 public:
  // "auto" takes the GPU here, and where there is none the shipped recordings; `notice` says which.
  static Result<Machine> Open(const DeviceOptions& options);

  Device& device() { return *device_; }
  const DeviceInfo& info() const { return device_->Info(); }
  Compiler& compiler() { return *compiler_; }
  // What the loop compiles with: null where the device answers without artifacts.
  Compiler* loop_compiler() { return info().needs_artifacts ? compiler_.get() : nullptr; }
  // Null but for what measures here; for what replays, here or at a server; and for a server.
  judge::LocalDevice* local() { return local_; }
  store::RecordedDevice* recorded() { return recorded_; }
  ServedDevice* served() { return served_; }
  // kUnavailable: no GPU of this machine was opened, which `what` needs.
  Status NeedsLocal(const std::string& what) const;
  bool sandboxed() const { return sandboxed_; }  // programs are, unless --unsandboxed
  // Opened at first use.
  Result<store::DatabaseStore*> store();
  // For a session; the store is opened.
  Result<Seams> seams();
  // How well the GPU here was kept busy: "measuring 83 % of the 312 s it was held"; empty where
  // something else answers.
  std::string UseLine() const;
  // One line for a person: where the numbers come from.
  const std::string& notice() const { return notice_; }

 private:
  Machine() = default;
  std::string store_path_, notice_;
  std::unique_ptr<compile::WorkerCompiler> compiler_;
  std::unique_ptr<Device> device_;
  judge::LocalDevice* local_ = nullptr;
  store::RecordedDevice* recorded_ = nullptr;
  ServedDevice* served_ = nullptr;
  bool sandboxed_ = true;
  std::unique_ptr<store::DatabaseStore> store_;
};

// Opened when first needed, and given back when nothing is asked for a while: others may want to
// measure.
class LazyMachine {
 public:
  explicit LazyMachine(DeviceOptions options) : options_(std::move(options)) {}
  // Says on stderr where the numbers come from, when it is opened.
  Result<Machine*> Get();
  void Release() { machine_.reset(); }

 private:
  const DeviceOptions options_;
  std::unique_ptr<Machine> machine_;
};

// The store named by --store (a path, or a server's address), else the user's.
std::string StorePath(const std::string& option);
// Makes it, and its folder, where there is none.
Result<std::unique_ptr<store::DatabaseStore>> OpenStore(const std::string& option,
                                                        store::Durability durability);
// Opens what is there; kNoInput when there is none.
Result<std::unique_ptr<store::DatabaseStore>> OpenExistingStore(const std::string& option);

// The folder of recordings that come with the program.
Result<std::filesystem::path> ShippedRecordings();

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_MACHINE_MACHINE_H_
