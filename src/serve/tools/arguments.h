// What the MCP tools read from their arguments. An optional text may be empty, too: models fill in
// what they do not need.
#ifndef WARPSMITH_SERVE_TOOLS_ARGUMENTS_H_
#define WARPSMITH_SERVE_TOOLS_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::serve {

// Empty where it is absent.
Result<std::string> TextIn(const JsonReader& arguments, std::string_view field);

// A canonical name (agent/knowledge/facts.h), or empty; refused: a text that makes none.
Result<std::string> NameIn(const JsonReader& arguments, std::string_view field);

// `otherwise` where it is absent.
Result<int64_t> NumberIn(const JsonReader& arguments, std::string_view field, int64_t lowest,
                         int64_t highest, int64_t otherwise);

// False where it is absent.
Result<bool> FlagIn(const JsonReader& arguments, std::string_view field);

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_TOOLS_ARGUMENTS_H_
