// From the fields that a task.toml has to those of a task's JSON form: where the file names other
// files, their contents are put.
#ifndef WARPSMITH_TASK_EMBED_H_
#define WARPSMITH_TASK_EMBED_H_

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::task {

// `root`: the task.toml's content, `folder`: where it lies. Fields that name no files are left as
// they are, for TaskFrom to judge.
//   [reference] source | sources, entry, style, outputs -> options and sources; plan gets a version
//   [[rivals]] name, path -> name, candidate
//   forms, when [program] is there and nothing is said: kernel and program
Result<nlohmann::json> EmbedFiles(const JsonReader& root, const std::filesystem::path& folder);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_EMBED_H_
