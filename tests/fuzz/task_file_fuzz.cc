// A task.toml of a user's, with a reference and a source beside it. A task that is taken can be
// sent to another process, and everything that is said about it before a device is asked.
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/program_shim.h"
#include "core/serialize.h"
#include "fuzz.h"
#include "task/check.h"
#include "task/task_file.h"

using namespace warpsmith;

namespace {

void MustTravel(const Task& task) {
  const std::string written = ToJson(task).dump();
  const nlohmann::json parsed = ParseJson("written", written).value();
  const auto again = TaskFrom(JsonReader("written", parsed));
  CHECK(again.ok() && ToJson(*again).dump() == written && TaskId(*again) == TaskId(task));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool prepared = [] {
    fuzz::WriteInFolder("reference.cu", "extern \"C\" __global__ void reference(float* y) {}\n");
    fuzz::WriteInFolder("reference.py", "def reference(x):\n    return x\n");
    fuzz::WriteInFolder(
        "current/candidate.toml",
        "version = 1\nform = \"program\"\nentry = \"k.cu\"\nsources = [\"k.cu\"]\n");
    fuzz::WriteInFolder("current/k.cu", "void launch() {}\n");
    return true;
  }();
  CHECK(prepared);
  fuzz::WriteInFolder("task.toml", fuzz::TextOf(data, size));
  const auto loaded = task::LoadTask((fuzz::Folder() / "task.toml").string());
  if (fuzz::ValueOf(loaded) == nullptr) return 0;
  MustTravel(loaded->task);
  for (const task::TaskFinding& finding : task::ExamineText(loaded->task)) {
    CHECK(!finding.name.empty() && !finding.what.empty());
  }
  Candidate program;
  program.form = Form::kProgram;
  program.entry = "k.cu";
  program.sources = {{"k.cu", "void launch() {}\n"}};
  for (const Workload& workload : task::AllWorkloads(*loaded)) {
    fuzz::ValueOf(WithProgramShim(program, loaded->task, workload));
    for (const TensorSpec& tensor : loaded->task.tensors) {
      fuzz::ValueOf(TensorBytes(tensor, workload.sizes));
    }
  }
  return 0;
}
