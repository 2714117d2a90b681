// How the tensors of a split's parts become each other's, by name, and the rules for it.
#ifndef WARPSMITH_AGENT_SPLIT_JOIN_H_
#define WARPSMITH_AGENT_SPLIT_JOIN_H_

#include <map>
#include <string>
#include <vector>

#include "agent/split/parts.h"
#include "base/result.h"
#include "core/task.h"

namespace warpsmith::split {

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

#endif  // WARPSMITH_AGENT_SPLIT_JOIN_H_
