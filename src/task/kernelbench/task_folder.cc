#include "task/kernelbench/task_folder.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "task/task_file.h"
#include "task/toml_text.h"

namespace warpsmith::kernelbench {
namespace {

constexpr const char* kTaskFile = "task.toml";

Result<int64_t> ReadBack(const std::filesystem::path& folder) {
  const task::LoadedTask loaded = TRY(task::LoadTask(folder.string()));
  int64_t bytes = 0;
  for (const TensorSpec& tensor : loaded.task.tensors) {
    bytes += TRY(TensorBytes(tensor, loaded.workload.sizes));
  }
  return bytes;
}

}  // namespace

bool IsDone(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kTaskFile, ignored)) return false;
  for (const auto& [name, text] : files) {
    const Result<std::string> there = ReadFile(folder / name);
    if (!there.ok() || *there != text) return false;
  }
  return ReadBack(folder).ok();
}

Status WriteFiles(const std::filesystem::path& folder,
                  const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    TRY(CreateDirectories((folder / name).parent_path()));
    TRY(WriteFileAtomic(folder / name, text));
  }
  return {};
}

Result<int64_t> WriteTask(const std::filesystem::path& folder, const nlohmann::json& document) {
  TRY(CreateDirectories(folder));
  const std::string text =
      task::TomlText(document, {"version", "name", "origin", "forms", "baselines"});
  TRY(WriteFileAtomic(folder / kTaskFile, text));
  Result<int64_t> bytes = ReadBack(folder);
  std::error_code ignored;
  if (!bytes.ok()) std::filesystem::remove(folder / kTaskFile, ignored);
  return bytes;
}

}  // namespace warpsmith::kernelbench
