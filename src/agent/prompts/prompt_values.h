// What prompts say of tasks and candidates. A hidden workload is never among it.
#ifndef WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_
#define WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_

#include <map>
#include <string>

#include "core/form.h"
#include "core/launch_plan.h"
#include "core/task.h"

namespace warpsmith::prompts {

// {{task_facts}}: tensors, sizes of the workloads that are not hidden, tolerance, how a program is
// called, what it may use. Lines of plain text, foreign names in them.
std::string TaskFacts(const Task& task);

// {{reference}}: the sources under their names, or what is built in.
std::string ReferenceText(const Task& task);

// {{sources}}: each file under its name in a fence that it cannot close.
std::string SourcesText(const std::map<std::string, std::string>& sources);

// {{plan}}: JSON, or that there is none.
std::string PlanText(Form form, const LaunchPlan& plan);

// {{reply_format}} for candidates of this form, and what of the code shown a reply may leave out.
enum class MayKeep { kNothing, kPlan, kPlanAndLines };
std::string ReplyFormat(Form form, MayKeep kept);

// {{known_states}}: one line each.
std::string KnownStatesText();

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_
