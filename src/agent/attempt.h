// One attempt at a better kernel, with its repairs; and a rollout, which makes one after another.
#ifndef WARPSMITH_AGENT_ATTEMPT_H_
#define WARPSMITH_AGENT_ATTEMPT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/selection.h"
#include "core/candidate.h"
#include "core/chat_model.h"

namespace warpsmith::agent {

enum class Kind : uint8_t {
  kGiven,        // the kernel that the run begins with; nobody is asked
  kBootstrap,    // a first kernel from the reference
  kJoin,         // a first kernel from those of the task's parts
  kLowering,     // a technique becomes code
  kOwnIdea,      // the model chooses
  kImprove,      // the minimal agent
  kContrastive,  // from variants with their scores
};
std::string_view Name(Kind kind);

struct Attempt {
  Kind kind = Kind::kLowering;
  int rollout = 0;
  int node = -1;                       // what it changes; -1: there is nothing yet
  Option option;                       // its technique is the one that the model named, once it did
  std::string description;             // of the technique, in the model's words
  size_t tried = 0;                    // its entry in the node's list
  int number = 1;                      // of the attempts that would have the same prompt
  int failures = 0;                    // so far
  std::optional<ChatRequest> request;  // what is asked next, but for the complaint
  // The last candidate that failed, to be repaired, and why.
  std::optional<Candidate> failed;
  std::string failure, log;
  std::optional<knowledge::Failure> failure_kind;  // nullopt: it says nothing of the technique
  // The last reply held no candidate, in one line: the same is asked again with this.
  std::string complaint;
};
// Is it at a first kernel, with nothing before it to be better than?
bool IsFirst(const Attempt& attempt);

struct Rollout {
  int node = -1;      // where it stands
  int depth = 0;      // steps made since it began
  int64_t begun = 0;  // how often it has
  std::vector<Attempt> open;
  std::vector<int> children;  // nodes that this step's attempts led to
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_ATTEMPT_H_
