// The names that a model gives to files. They are keys of a map, never paths.
#ifndef WARPSMITH_AGENT_PROMPTS_FILE_NAME_H_
#define WARPSMITH_AGENT_PROMPTS_FILE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith::prompts {

inline constexpr size_t kMaxFileNameBytes = 64;

// Letters, digits, '_', '-' and '.'; not beginning with '.' or '-'; no folder; one of the
// extensions .cu .cuh .h .hh .hpp .inl .cc .cpp. kBadInput otherwise.
Status CheckSourceName(std::string_view name);

bool HasSourceExtension(std::string_view name);

// plan.json, plan.toml, candidate.json, candidate.toml
bool IsPlanName(std::string_view name);

// The name that a fence's info string gives: "cuda kernel.cu", "cuda:kernel.cu",
// "cpp title=\"kernel.cu\"", "kernel.cu". Unchecked: it may be a path.
std::optional<std::string> NameInInfo(std::string_view info);

// The name that a line gives which is nothing but a name: "### `kernel.cu`", "File: kernel.cu",
// "// kernel.cu", "/* kernel.cu */", "**kernel.cu**:". Unchecked.
std::optional<std::string> NameAsLabel(std::string_view line);

// The one name without a folder in a sentence: "Here is the new `kernel.cu`:".
std::optional<std::string> NameInSentence(std::string_view line);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_FILE_NAME_H_
