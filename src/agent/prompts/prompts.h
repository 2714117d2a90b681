// The prompts that the program carries, checked against the variables that it can fill.
#ifndef WARPSMITH_AGENT_PROMPTS_PROMPTS_H_
#define WARPSMITH_AGENT_PROMPTS_PROMPTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "agent/prompts/prompt_template.h"
#include "base/embedded_file.h"
#include "base/result.h"

namespace warpsmith::prompts {

enum class PromptId : uint8_t {
  kBootstrap,         // a first correct kernel from the reference
  kStateExtractor,    // what holds the kernels back, where the rules are unsure
  kLowering,          // a technique becomes code
  kOwnIdea,           // the model chooses what to change
  kImprove,           // code and profile, nothing else: the minimal agent
  kContrastive,       // variants with their scores become a better one
  kRepair,            // a compiler's log or a wrong answer becomes mended code
  kStepReview,        // expected against measured, why, and one note
  kSoftVerification,  // reasons to doubt; never an approval
  kReplyKernel,       // parts: the reply's format for each form, and for edits
  kReplyProgram,
  kReplyEdits,
  // Behind those whose versions every run of the agent records: asked where a task is split.
  kSplit,  // a task becomes parts with references of their own
  kJoin,   // the parts' kernels become a first kernel of the whole
};

// Every variable that a prompt may name.
std::span<const Variable> VariableTable();

class Prompts {
 public:
  // kBadInput when a file is missing or malformed, names a variable that is not in `variables`, or
  // when no file uses one that is. Files that no PromptId names are left alone.
  static Result<Prompts> Load(std::span<const EmbeddedFile> files,
                              std::span<const Variable> variables);
  // Those inside the program. They are tested: an error is a bug, and aborts.
  static const Prompts& Embedded();

  const PromptTemplate& Get(PromptId id) const { return prompts_.at(id); }

 private:
  std::map<PromptId, PromptTemplate> prompts_;
};

std::string_view FileName(PromptId id);  // "lowering.md"

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_PROMPTS_H_
