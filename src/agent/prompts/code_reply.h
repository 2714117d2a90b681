// What a model's reply makes of a candidate's sources.
#ifndef WARPSMITH_AGENT_PROMPTS_CODE_REPLY_H_
#define WARPSMITH_AGENT_PROMPTS_CODE_REPLY_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/candidate.h"
#include "core/launch_plan.h"

namespace warpsmith::prompts {

inline constexpr size_t kMaxSourceBytes = size_t{512} << 10;  // of one file
inline constexpr size_t kMaxSourceFiles = 16;

// How the refusal of a reply begins that says "NOT APPLICABLE: why" in place of code.
inline constexpr std::string_view kDeclined = "the model declines: ";

// What the model was shown: empty for a first kernel.
struct ReplyBase {
  std::map<std::string, std::string> sources;
  std::string entry = "kernel.cu";
};

struct CodeReply {
  std::map<std::string, std::string> sources;  // the base's, with what the reply changed
  std::string entry;                           // one of them
  std::optional<LaunchPlan> plan;              // nullopt: the reply has none
};

// Reads whole files in fenced blocks (named in the fence's line, on the line above or in a first
// comment; one block of code without a name is the entry), SEARCH/REPLACE edits, unified diffs,
// plans in JSON or TOML, a candidate as JSON, and a reply that is nothing but code. Blocks count in
// the reply's order, so edits may follow the file that they change. Compiler flags, toolchains and
// paths are never taken. kBadInput, in one line, where the reply holds no candidate: prose, half a
// file, code left out, a bad name, an edit that fits nowhere or in several places, a plan that is
// none, nothing changed.
Result<CodeReply> ReadCodeReply(std::string_view reply, const ReplyBase& base);

// The candidate that `base` becomes: its form, toolchain and flags stay, its provenance does not.
Candidate WithReply(const Candidate& base, const CodeReply& reply);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_CODE_REPLY_H_
