// JSON values as TOML text, for the task files that are written for people to read and change.
#ifndef WARPSMITH_TASK_TOML_TEXT_H_
#define WARPSMITH_TASK_TOML_TEXT_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace warpsmith::task {

// `document` is an object; its objects become [tables], the rest is written ahead of them. Lists of
// objects have an object a line. No null may be in it. `first`: keys that go ahead of the others.
std::string TomlText(const nlohmann::json& document, const std::vector<std::string>& first);

// A value on one line, as it stands behind a key.
std::string TomlValue(const nlohmann::json& value);

// --- TOML files are the written form of our JSON formats: same fields, same readers, same errors.

// Syntax errors name file, line and column. Dates and times are refused.
Result<nlohmann::json> ParseTomlAsJson(const std::filesystem::path& path, std::string_view text);
// `advice`: what to do where there is no such file.
Result<nlohmann::json> ReadTomlAsJson(const std::filesystem::path& path, const std::string& advice);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TOML_TEXT_H_
