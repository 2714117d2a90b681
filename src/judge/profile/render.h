// A bottleneck report for a person, for a program, and for a model.
#ifndef WARPSMITH_JUDGE_PROFILE_RENDER_H_
#define WARPSMITH_JUDGE_PROFILE_RENDER_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "judge/profile/bottleneck.h"

namespace warpsmith::profile {

// Lines for a terminal; every statement names its metrics and values. Names are shown safely.
std::string BottleneckText(const BottleneckReport& report);

// {"schema":"warpsmith.bottlenecks","version":1,...}; docs/evaluate.md. Names are as they are.
nlohmann::json ToJson(const BottleneckReport& report);
// The same with the profile's metrics beside each kernel.
nlohmann::json ToJson(const BottleneckReport& report, const Profile& profile);

// The block that a prompt takes in (model_block.txt): at most so many kernels and statements, names
// as quoted data that cannot leave the block.
std::string ModelBlock(const BottleneckReport& report, size_t most_kernels = 8,
                       size_t most_statements = 12);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_RENDER_H_
