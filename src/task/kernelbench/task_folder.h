// The folder of one imported task: written wholly or left without its task.toml, which comes last.
#ifndef WARPSMITH_TASK_KERNELBENCH_TASK_FOLDER_H_
#define WARPSMITH_TASK_KERNELBENCH_TASK_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace warpsmith::kernelbench {

// Whether an earlier import finished here, from the same sources: each of `files` (name -> text)
// is there unchanged beside a task.toml.
bool IsDone(const std::filesystem::path& folder, const std::map<std::string, std::string>& files);

Status WriteFiles(const std::filesystem::path& folder,
                  const std::map<std::string, std::string>& files);

// Writes task.toml and reads it back as any task is read; on an error no task.toml stays.
// Returns the bytes of all its tensors.
Result<int64_t> WriteTask(const std::filesystem::path& folder, const nlohmann::json& document);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_TASK_FOLDER_H_
