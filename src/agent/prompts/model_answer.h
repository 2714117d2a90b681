// Answers that are one JSON object: what the prompts but bootstrap, lowering and repair ask for.
//
// All texts in them are foreign: one line each, without control characters, cut at kMaxAnswerText.
#ifndef WARPSMITH_AGENT_PROMPTS_MODEL_ANSWER_H_
#define WARPSMITH_AGENT_PROMPTS_MODEL_ANSWER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"

namespace warpsmith::prompts {

inline constexpr size_t kMaxAnswerText = 600;  // characters
inline constexpr size_t kMaxAnswerItems = 64;  // of a list

// Each reader takes the last fenced block that holds a JSON object, or an object among prose, and
// ignores fields that it does not know. kBadInput in one line where there is none, or where a field
// is missing or of another type.

struct NamedState {
  size_t kernel = 0;             // index in the profile, below `kernels`
  std::string state, secondary;  // names (IsStateName); `secondary` may be empty
  double confidence = 0;         // 0 to 1
  std::vector<std::string> evidence;
};
// `kernels`: how many the profile has. No kernel is named twice; some may be missing.
Result<std::vector<NamedState>> ReadStates(std::string_view reply, size_t kernels);

// Lower-case letters, digits and single hyphens between them, at most 40: a key of the knowledge
// base, whether it is known there or discovered now.
bool IsStateName(std::string_view name);

struct GapAnalysis {
  std::string cause, verdict, next;  // `next` may be empty; `verdict` is one of the prompt's
  std::vector<std::string> evidence;
};
Result<GapAnalysis> ReadGapAnalysis(std::string_view reply);

struct Doubt {
  std::string reason, where, severity;  // "high", "medium", "low"
};
// An empty list is no approval: nothing here can be one.
Result<std::vector<Doubt>> ReadDoubts(std::string_view reply);

struct Note {
  std::string note, when, replaces;  // the last two may be empty
};
Result<Note> ReadNote(std::string_view reply);

// --- A candidate as a coding agent gives it to a tool: texts under names, a plan, edits. All of it
// is data: names are keys of a map and never paths, and no compiler flag, toolchain or command can
// be given.

// From `sources`, `remove`, `edits`, `plan`, `form` and `entry` of the arguments. `base`, if any,
// is what they change: it keeps its flags and toolchain, and its plan where none is given.
// kBadInput says what to give instead.
Result<Candidate> CandidateFromArguments(const JsonReader& arguments, const Task& task,
                                         const Candidate* base);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_MODEL_ANSWER_H_
