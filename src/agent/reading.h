// From a reply to a proposal.
#ifndef WARPSMITH_AGENT_READING_H_
#define WARPSMITH_AGENT_READING_H_

#include <optional>
#include <string_view>

#include "agent/knowledge/facts.h"
#include "agent/model_client.h"
#include "agent/selection.h"
#include "agent/settings.h"
#include "core/proposer.h"

namespace warpsmith::agent {

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

#endif  // WARPSMITH_AGENT_READING_H_
