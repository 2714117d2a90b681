// From a model's reply to the folder of a split.
#ifndef WARPSMITH_AGENT_SPLIT_REPLY_H_
#define WARPSMITH_AGENT_SPLIT_REPLY_H_

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::split {

// Path in the folder -> text: parts.toml, and of each part task.toml and reference.py. Folders and
// files have names of ours; of the reply come the parts' titles, the names, types and shapes of
// tensors between parts, generators, reduction lengths, flops, and the references' texts. All else
// (workloads, baselines, precision, tensors of the whole) is taken over from the whole.
// `whole_path` is written down as where the whole is. kBadInput, in one line, where the reply holds
// no split; whether it joins and composes is found out by loading and proving it.
Result<std::map<std::string, std::string>> FilesFrom(std::string_view reply, const Task& whole,
                                                     const std::string& whole_path);

}  // namespace warpsmith::split

#endif  // WARPSMITH_AGENT_SPLIT_REPLY_H_
