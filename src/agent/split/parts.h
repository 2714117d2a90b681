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

bool IsSplit(const std::filesystem::path& folder);

// What the split says that it is a split of, for task::LoadTask.
Result<std::string> WholeOf(const std::filesystem::path& folder);

// Reads parts.toml and every part's task.toml, and gives the parts as Joined() does. kBadInput, in
// one line, where they do not join or are no parts of `whole`. Whether they compute the same is
// composition.h's.
Result<std::vector<Part>> LoadSplit(const std::filesystem::path& folder, const Task& whole);

// --- How the tensors of a split's parts become each other's, by name, and the rules for it.

// The parts, each behind those whose outputs it reads. kBadInput, in one line that begins with
// `source`, unless
//   the whole has a PyTorch reference, and every part one of style "function";
//   every part has the whole's workloads;
//   every tensor that a part reads is an input of the whole, or made by exactly one other part;
//   every output of the whole is made, and every tensor that is made is read or is such an output;
//   a tensor has the same type and, on every workload, the same shape wherever it appears;
//   no part waits for itself.
Result<std::vector<Part>> Joined(const std::string& source, const Task& whole,
                                 std::vector<Part> parts);

// Every tensor of the join by its name there: the whole's, and those between parts.
std::map<std::string, TensorSpec> ValuesOf(const Task& whole, const std::vector<Part>& parts);

}  // namespace warpsmith::split

#endif  // WARPSMITH_AGENT_SPLIT_PARTS_H_
