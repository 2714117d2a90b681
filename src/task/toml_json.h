// TOML files are the written form of our JSON formats: same fields, same readers, same errors.
#ifndef WARPSMITH_TASK_TOML_JSON_H_
#define WARPSMITH_TASK_TOML_JSON_H_

#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace warpsmith::task {

// Syntax errors name file, line and column. Dates and times are refused.
Result<nlohmann::json> ParseTomlAsJson(const std::filesystem::path& path, std::string_view text);
Result<nlohmann::json> ReadTomlAsJson(const std::filesystem::path& path);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TOML_JSON_H_
