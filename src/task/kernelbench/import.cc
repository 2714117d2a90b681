#include "task/kernelbench/import.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/frame.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "base/subprocess.h"
#include "embedded/kernelbench_import.h"
#include "judge/torch/torch_process.h"
#include "task/task_file.h"
#include "task/toml_text.h"

namespace warpsmith::kernelbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Report = std::function<void(const ImportRow&)>;

constexpr int kTickMs = 200;
constexpr std::chrono::seconds kWholeFrame{30};  // from a message's first byte to its last
constexpr int kTicksToEnd = 25;                  // for the Python to end its own processes

// The importer's files come in the first message: as an argument they would be too long.
constexpr std::string_view kStart =
    "import json\n"
    "from warpsmith_peer.frames import FrameSocket\n"
    "from warpsmith_peer.sources import MemoryFiles\n"
    "number = int(sys.argv[-1])\n"
    "socket = FrameSocket(number)\n"
    "request = json.loads(socket.receive().header)\n"
    "sys.meta_path.insert(0, MemoryFiles(request.pop('files')))\n"
    "from warpsmith_import.importing import main\n"
    "main(socket, number, request)\n";

json RequestOf(const ImportOptions& options, const std::string& python) {
  json files = json::object();
  for (const EmbeddedFile& file : embedded::KernelbenchImport()) {
    files[std::string(file.path)] = file.contents;
  }
  return {{"files", files},
          {"python", python},
          {"checkout", options.checkout},
          {"output", options.output},
          {"modules", options.modules},
          {"only", options.only},
          {"set", options.set},
          {"dtype", options.dtype},
          {"jobs", options.jobs},
          {"limit_seconds", options.limit_seconds}};
}

// Reads a task.toml as any task is read; the bytes of all its tensors.
Result<int64_t> BytesOf(const fs::path& folder) {
  const task::LoadedTask loaded = TRY(task::LoadTask(folder.string()));
  int64_t bytes = 0;
  for (const TensorSpec& tensor : loaded.task.tensors) {
    bytes += TRY(TensorBytes(tensor, loaded.workload.sizes));
  }
  return bytes;
}

// On an error no task.toml stays.
Result<int64_t> WriteTask(const fs::path& folder, const json& document) {
  TRY(CreateDirectories(folder));
  const std::string text =
      task::TomlText(document, {"version", "name", "origin", "forms", "baselines"});
  TRY(WriteFileAtomic(folder / "task.toml", text));
  Result<int64_t> bytes = BytesOf(folder);
  std::error_code ignored;
  if (!bytes.ok()) fs::remove(folder / "task.toml", ignored);
  return bytes;
}

Result<ImportRow> RowFrom(const JsonReader& reader) {
  ImportRow row;
  row.problem = TRY(reader.At("problem").String());
  row.result = TRY(reader.At("result").String());
  row.reason = TRY(reader.At("reason").String());
  row.folder = TRY(reader.At("folder").String());
  row.bytes = TRY(reader.At("bytes").Int());
  return row;
}

Error ErrorFrom(const std::string& message, int64_t status, const std::string& fix) {
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    if (row.exit_status == status) return {row.code, message, fix};
  }
  return {ErrorCode::kInternal, message, fix};
}

// The Python process, from its first message to its last.
class Conversation {
 public:
  Conversation(ChildProcess process, std::string python)
      : process_(std::move(process)), python_(std::move(python)) {}

  Status Send(const json& message) { return SendFrame(process_.socket(), JsonText(message)); }

  Result<ImportResult> Follow(const Report& report) {
    while (true) {
      const json message = TRY(Receive());
      const JsonReader reader("what the import said", message);
      if (reader.Has("row")) {
        report(TRY(RowFrom(reader.At("row"))));
      } else if (reader.Has("load")) {
        TRY(Answer(BytesOf(TRY(reader.At("load").String()))));
      } else if (reader.Has("task")) {
        TRY(Answer(WriteTask(TRY(reader.At("task").String()), *reader.At("document").json())));
      } else if (reader.Has("error")) {
        const int64_t status = TRY(reader.At("code").Int());
        return ErrorFrom(TRY(reader.At("error").String()), status, TRY(reader.At("fix").String()));
      } else {
        return ResultFrom(reader);
      }
    }
  }

 private:
  bool HasMessage() const {
    pollfd waited{process_.socket(), POLLIN, 0};
    return poll(&waited, 1, kTickMs) > 0;
  }

  Result<json> Receive() {
    while (!HasMessage()) {
      if (Interrupted()) return Stopped();
    }
    const Result<Frame> frame = ReceiveFrame(process_.socket(), kWholeFrame);
    if (frame.ok()) return ParseJson("what the import said", frame->header);
    return Error{ErrorCode::kUnavailable,
                 "inspecting the problems with " + python_ + ": it ended without an answer",
                 "set WARPSMITH_PYTHON to a Python from 3.10 that has torch"};
  }

  // Its own processes are in groups of their own, so it must end them itself.
  Error Stopped() {
    shutdown(process_.socket(), SHUT_WR);
    for (int tick = 0; tick < kTicksToEnd && process_.Running(); ++tick) {
      if (HasMessage() && !ReceiveFrame(process_.socket(), kWholeFrame).ok()) break;
    }
    return {ErrorCode::kInterrupted, "stopped; what is there stays", ""};
  }

  Status Answer(const Result<int64_t>& bytes) {
    if (bytes.ok()) return Send({{"bytes", *bytes}});
    const Error& error = bytes.error();
    return Send(
        {{"error", error.message}, {"fix", error.fix}, {"code", Describe(error.code).exit_status}});
  }

  static Result<ImportResult> ResultFrom(const JsonReader& reader) {
    ImportResult result;
    result.set = TRY(reader.At("set").String());
    for (const JsonReader& row : TRY(reader.At("rows").Items())) {
      result.rows.push_back(TRY(RowFrom(row)));
    }
    return result;
  }

  ChildProcess process_;
  std::string python_;
};

}  // namespace

Result<ImportResult> Import(const ImportOptions& options, const Report& report) {
  const std::string python = TRY(torch::FindPython());
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-import"));
  Conversation conversation(TRY(ChildProcess::Start({python, "-c", torch::PeerProgram(kStart)}, {},
                                                    {"TMPDIR=" + folder.path().string()})),
                            python);
  // A process that is gone already has no answer either, which says more.
  [[maybe_unused]] const Status sent = conversation.Send(RequestOf(options, python));
  return conversation.Follow(report);
}

}  // namespace warpsmith::kernelbench
