// Which kernel to work on and by which technique, chosen together: a gain on a kernel is worth what
// it is of the whole time.
#ifndef WARPSMITH_AGENT_SELECTION_H_
#define WARPSMITH_AGENT_SELECTION_H_

#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/node.h"
#include "base/random.h"

namespace warpsmith::agent {

// The pseudo-technique of letting the model choose. It competes like any other, so how often it is
// taken follows what came of it.
inline constexpr std::string_view kOwnIdea = "own-idea";
knowledge::Technique OwnIdea();

struct Option {
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
Result<std::vector<Option>> Select(knowledge::KnowledgeBase& base, const SelectionContext& problem,
                                   const Node& node, size_t k, Random& random);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_SELECTION_H_
