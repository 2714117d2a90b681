// JSON values as TOML text, for the task files that an import writes: people read and change them.
#ifndef WARPSMITH_KERNELBENCH_TOML_TEXT_H_
#define WARPSMITH_KERNELBENCH_TOML_TEXT_H_

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace warpsmith::kernelbench {

// `document` is an object; its objects become [tables], the rest is written ahead of them. Lists of
// objects have an object a line. No null may be in it. `first`: keys that go ahead of the others.
std::string TomlText(const nlohmann::json& document, const std::vector<std::string>& first);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_KERNELBENCH_TOML_TEXT_H_
