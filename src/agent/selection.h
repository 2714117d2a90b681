// Which kernel to work on and by which technique, chosen together: a gain on a kernel is worth what
// it is of the whole time.
#ifndef WARPSMITH_AGENT_SELECTION_H_
#define WARPSMITH_AGENT_SELECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/node.h"
#include "base/random.h"
#include "core/candidate.h"
#include "core/chat_model.h"

namespace warpsmith::agent {

// The pseudo-technique of letting the model choose. It competes like any other, so how often it is
// taken follows what came of it.
inline constexpr std::string_view kOwnIdea = "own-idea";
knowledge::Technique OwnIdea();

struct TechniqueOption {
  std::string technique;
  std::string state;
  std::string target;        // "kernel 2 \"name\"", "kernels 1 and 2"; empty: the whole program
  double share = 1;          // of the time that the technique can change
  double expected_gain = 0;  // log gain on that share, as believed
  double sampled_value = 0;  // log gain of the whole, as drawn
};

// What everything is chosen for.
struct SelectionContext {
  knowledge::Context context;  // `previous` is the node's own
  std::string task;            // content id
};

knowledge::Situation SituationOf(const SelectionContext& problem, const Node& node,
                                 const KernelState& kernel);

// Up to k options for the node, the best draw first: techniques that the base connects with a
// kernel's state (all it has, where none is), fusion only where there are several kernels, and the
// own idea. Nothing that was tried on the node for the same kernels, or that hung, crashed
// or was wrong for this task in this state.
Result<std::vector<TechniqueOption>> Select(knowledge::KnowledgeBase& base,
                                            const SelectionContext& problem, const Node& node,
                                            size_t k, Random& random);

// One attempt at a better kernel, with its repairs; and a rollout, which makes one after another.
enum class AttemptKind : uint8_t {
  kGiven,        // the kernel that the run begins with; nobody is asked
  kBootstrap,    // a first kernel from the reference
  kJoin,         // a first kernel from those of the task's parts
  kLowering,     // a technique becomes code
  kOwnIdea,      // the model chooses
  kImprove,      // the minimal agent
  kContrastive,  // from variants with their scores
};
std::string_view Name(AttemptKind kind);

struct Attempt {
  AttemptKind kind = AttemptKind::kLowering;
  int rollout = 0;
  int node = -1;                       // what it changes; -1: there is nothing yet
  TechniqueOption option;              // its technique is the one that the model named, once it did
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

#endif  // WARPSMITH_AGENT_SELECTION_H_
