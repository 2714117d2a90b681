// The files that a task.toml or candidate.toml names, as texts that travel with it.
#ifndef WARPSMITH_TASK_SOURCE_FILES_H_
#define WARPSMITH_TASK_SOURCE_FILES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::task {

inline constexpr uintmax_t kMaxSourceBytes = uintmax_t{4} << 20;  // of one file

// Texts of `owner`'s folder: "the task's" or "the candidate's". What a file names stays inside it:
// absolute paths, "..", links that lead out, devices and pipes are refused, and so is what is no
// UTF-8. `name` and `list` are places in the naming file, for error texts.
struct SourceFolder {
  std::filesystem::path path;
  std::string_view owner;

  Result<std::filesystem::path> Inside(const JsonReader& name) const;
  Result<std::string> Read(const JsonReader& name) const;
  // {path: text} of a list of at least one path.
  Result<nlohmann::json> ReadAll(const JsonReader& list) const;
};

// `path` itself or, where it is a folder, the file `name` in it.
std::filesystem::path FileIn(const std::filesystem::path& path, std::string_view name);

// One file that the user named on the command line: any place, else the same rules.
Result<std::string> ReadSourceText(const std::filesystem::path& file);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_SOURCE_FILES_H_
