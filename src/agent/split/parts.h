// A large task split into parts: ordinary tasks whose tensors join into the whole's.
// docs/task-format.md has the format, docs/agent.md how it is used.
#ifndef WARPSMITH_AGENT_SPLIT_PARTS_H_
#define WARPSMITH_AGENT_SPLIT_PARTS_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::split {

inline constexpr const char* kPartsFile = "parts.toml";
inline constexpr size_t kMostParts = 32;

struct Part {
  std::string name;  // its folder in the split's
  Task task;
  std::map<std::string, std::string> values;  // each of its tensors -> its name in the join
};

// Each part stands behind those whose outputs it reads.
struct Split {
  std::vector<Part> parts;
};

bool IsSplit(const std::filesystem::path& folder);

// What the split says that it is a split of, for task::LoadTask.
Result<std::string> WholeOf(const std::filesystem::path& folder);

// Reads parts.toml and every part's task.toml. kBadInput, in one line, where the parts do not join
// (join.h) or are no parts of `whole`. Whether they compute the same is composition.h's.
Result<Split> LoadSplit(const std::filesystem::path& folder, const Task& whole);

}  // namespace warpsmith::split

#endif  // WARPSMITH_AGENT_SPLIT_PARTS_H_
