// JSON values as TOML text, for the task files that are written for people to read and change.
#ifndef WARPSMITH_TASK_TOML_TEXT_H_
#define WARPSMITH_TASK_TOML_TEXT_H_

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace warpsmith::task {

// `document` is an object; its objects become [tables], the rest is written ahead of them. Lists of
// objects have an object a line. No null may be in it. `first`: keys that go ahead of the others.
std::string TomlText(const nlohmann::json& document, const std::vector<std::string>& first);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TOML_TEXT_H_
