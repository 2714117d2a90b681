// What a model replies to be split, up to the folder that it becomes; and a parts.toml over parts
// that are there. The first line says which.
#include <set>

#include "agent/split/parts.h"
#include "agent/split/reply.h"
#include "base/file.h"
#include "fuzz.h"
#include "task/task_file.h"

using namespace warpsmith;

namespace {

constexpr const char* kWhole =
    "version = 1\nname = \"mlp\"\nbaselines = [\"torch-best\"]\nworkloads = [\n"
    "  { name = \"small\", sizes = { M = 64, N = 96, K = 32 } },\n"
    "  { name = \"odd\", sizes = { M = 61, N = 37, K = 19 }, hidden = true },\n]\ntensors = [\n"
    "  { name = \"x\", dtype = \"f16\", role = \"input\", shape = [\"M\", \"K\"] },\n"
    "  { name = \"param:w.1\", dtype = \"f16\", role = \"input\", shape = [\"K\", \"N\"], "
    "generator = \"reference\" },\n"
    "  { name = \"y\", dtype = \"f16\", role = \"output\", shape = [\"M\", \"N\"] },\n]\n"
    "[reference]\nkind = \"torch\"\nsource = \"reference.py\"\nstyle = \"function\"\n"
    "[tolerance]\nreduction_length = \"K\"\n";

const Task& Whole() {
  static const Task& whole = *new Task([] {
    fuzz::WriteInFolder("whole/task.toml", kWhole);
    fuzz::WriteInFolder("whole/reference.py", "def reference(x, w):\n    return x @ w\n");
    const auto loaded = task::LoadTask((fuzz::Folder() / "whole").string());
    CHECK(loaded.ok());
    return loaded->task;
  }());
  return whole;
}

bool IsOurs(const std::string& path, size_t parts) {
  if (path == split::kPartsFile) return true;
  for (size_t i = 1; i <= parts; ++i) {
    const std::string folder = "part-" + std::to_string(i);
    if (path == folder + "/task.toml" || path == folder + "/reference.py") return true;
  }
  return false;
}

// What Joined() promises.
void CheckJoined(const std::vector<split::Part>& parts) {
  std::set<std::string> made;
  for (const TensorSpec& tensor : Whole().tensors) {
    if (tensor.role == Role::kInput) made.insert(tensor.name);
  }
  for (const split::Part& part : parts) {
    CHECK(part.task.workloads.size() == Whole().workloads.size());
    for (const TensorSpec& tensor : part.task.tensors) {
      const bool is_read = tensor.role == Role::kInput;
      CHECK(!is_read || made.contains(part.values.at(tensor.name)));
    }
    for (const TensorSpec& tensor : part.task.tensors) {
      if (tensor.role == Role::kOutput) CHECK(made.insert(part.values.at(tensor.name)).second);
    }
  }
  CHECK(made.contains("y"));
}

void LoadFrom(const std::filesystem::path& folder) {
  const auto parts = split::LoadSplit(folder, Whole());
  if (fuzz::ValueOf(parts) != nullptr) CheckJoined(*parts);
}

void ReadFiles(std::string_view text) {
  const auto files = split::FilesFrom(text, Whole(), "../whole");
  if (!files.ok()) CHECK(files.error().Line().find('\n') == std::string::npos);
  if (fuzz::ValueOf(files) == nullptr) return;
  const size_t parts = files->size() / 2;
  CHECK(files->size() % 2 == 1 && parts >= 2 && parts <= split::kMostParts);
  for (const auto& [path, content] : *files) {
    CHECK(IsOurs(path, parts));
    fuzz::WriteInFolder("made/" + path, content);
  }
  const auto whole = split::WholeOf(fuzz::Folder() / "made");
  CHECK(whole.ok() && std::filesystem::path(*whole).filename() == "whole");
  LoadFrom(fuzz::Folder() / "made");
}

void ReadParts(std::string_view text) {
  static const bool is_there = [] {
    for (const char* part : {"a", "b"}) {
      fuzz::WriteInFolder(std::string("parts/") + part + "/task.toml", kWhole);
      fuzz::WriteInFolder(std::string("parts/") + part + "/reference.py",
                          "def reference(x, w):\n    return x @ w\n");
    }
    return true;
  }();
  CHECK(is_there);
  fuzz::WriteInFolder(std::string("parts/") + split::kPartsFile, text);
  fuzz::ValueOf(split::WholeOf(fuzz::Folder() / "parts"));
  LoadFrom(fuzz::Folder() / "parts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [kind, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  if (kind == "reply") ReadFiles(text);
  if (kind == "parts") ReadParts(text);
  return 0;
}
