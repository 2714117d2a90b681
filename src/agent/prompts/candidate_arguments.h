// A candidate as a coding agent gives it to a tool: texts under names, a plan, edits. All of it is
// data: names are keys of a map and never paths, and no compiler flag, toolchain or command can be
// given.
#ifndef WARPSMITH_AGENT_PROMPTS_CANDIDATE_ARGUMENTS_H_
#define WARPSMITH_AGENT_PROMPTS_CANDIDATE_ARGUMENTS_H_

#include "base/json_reader.h"
#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"

namespace warpsmith::prompts {

// From `sources`, `remove`, `edits`, `plan`, `form` and `entry` of the arguments. `base`, if any,
// is what they change: it keeps its flags and toolchain, and its plan where none is given.
// kBadInput says what to give instead.
Result<Candidate> CandidateFromArguments(const JsonReader& arguments, const Task& task,
                                         const Candidate* base);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_CANDIDATE_ARGUMENTS_H_
