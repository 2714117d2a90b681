// The questions that the agent asks, filled in from its templates (src/agent/prompts), and how a
// reply becomes a proposal.
#ifndef WARPSMITH_AGENT_PROMPT_WRITER_H_
#define WARPSMITH_AGENT_PROMPT_WRITER_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/forest.h"
#include "agent/knowledge/facts.h"
#include "agent/model_client.h"
#include "agent/prompts/prompt_values.h"
#include "agent/prompts/prompts.h"
#include "agent/settings.h"
#include "core/chat_model.h"
#include "core/device.h"
#include "core/proposer.h"
#include "core/task.h"

namespace warpsmith::agent {

class PromptWriter {
 public:
  PromptWriter(const Settings& settings, const Task& task, const DeviceInfo& device);

  // A first kernel, from the reference alone.
  ChatRequest Bootstrap(const Attempt& attempt) const;
  // `parts` in the order in which they run.
  ChatRequest Join(const Attempt& attempt, std::span<const PartKernel> parts) const;
  struct Background {
    std::string technique;  // how the option's technique is done
    std::string notes;      // knowledge::Render
    std::string history, documents;
  };
  // The attempt's technique, applied to the node's kernel.
  ChatRequest Lowering(const Attempt& attempt, const Node& node, const Background& known) const;
  ChatRequest OwnIdea(const Node& node, const Background& known) const;
  // A better kernel, by its code and profile alone.
  ChatRequest Improve(const Attempt& attempt, const Node& node) const;
  // `variants`: the best first.
  ChatRequest Contrastive(const Attempt& attempt, std::span<const Node* const> variants,
                          const std::string& documents) const;
  // Of attempt.failed.
  ChatRequest Repair(const Attempt& attempt) const;

  // What holds the kernel up, where the rules are unsure.
  ChatRequest States(const Node& node) const;
  // Why the step from `before` to `after` by this technique gained what it did. `notes`: what the
  // base says of it.
  ChatRequest Review(const Node& before, const Node& after, const TechniqueOption& option,
                     const std::string& notes) const;
  // Reasons to doubt a kernel that passed; never an approval.
  ChatRequest Doubts(const Node& node) const;

 private:
  ChatRequest Ask(std::string_view role, prompts::PromptId prompt,
                  const prompts::Values& values) const;
  ChatRequest RequestOf(std::string_view role, std::string text) const;
  ChatRequest AskForCode(std::string_view role, prompts::PromptId prompt, prompts::Values values,
                         prompts::MayKeep kept) const;

  const Settings& settings_;
  const Task& task_;
  const Form form_;
  const std::string device_, facts_, reference_;
};

// The attempt's request, and what was wrong with an earlier reply to it.
ChatRequest WithComplaint(const Attempt& attempt);

// --- From a reply to a proposal.

// "TECHNIQUE: name - what it does", the first such line outside of code; marked up or not. The name
// is canonical and has at most 60 bytes, the description is one line and may be empty.
std::optional<knowledge::Technique> TechniqueIn(std::string_view reply);

// The rule that a reply without a candidate is rejected by.
inline constexpr std::string_view kReplyRule = "reply";

// What the model was shown last: the code to change, or an empty candidate of the form that is
// wanted. Its flags and toolchain are ours.
Candidate CandidateShown(const Attempt& attempt, const Candidate* node, Form form);

// Never fails: where the answer holds no candidate the proposal is a refusal, and the reply's text
// is its only source, as evidence. The technique that the reply names goes into the attempt.
Proposal Read(const Answer& answer, const ChatRequest& request, const Candidate& shown,
              Attempt& attempt);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_PROMPT_WRITER_H_
