// A launch plan as a model writes it.
#ifndef WARPSMITH_AGENT_PROMPTS_REPLY_PLAN_H_
#define WARPSMITH_AGENT_PROMPTS_REPLY_PLAN_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/launch_plan.h"

namespace warpsmith::prompts {

// What of a candidate document is taken: never flags, entry, toolchain or where it came from.
struct PlanDocument {
  std::optional<LaunchPlan> plan;
  std::map<std::string, std::string> sources;  // candidate.json's, unchecked names
  std::vector<std::string> ignored;            // fields that stay ours
};

bool LooksLikePlan(std::string_view text);

// JSON or TOML: a plan, or a candidate (docs/task-format.md) with one. Read by the readers
// of those formats; a missing "version" counts as the one that the prompts show. kBadInput for
// anything else, in the readers' words, and for [tunables].
Result<PlanDocument> ReadPlanDocument(std::string_view text);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_REPLY_PLAN_H_
