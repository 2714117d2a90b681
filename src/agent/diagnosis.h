// Looks at kernels that passed: profile, bottlenecks, and the state of each kernel of the program.
#ifndef WARPSMITH_AGENT_DIAGNOSIS_H_
#define WARPSMITH_AGENT_DIAGNOSIS_H_

#include <functional>
#include <vector>

#include "agent/forest.h"
#include "agent/knowledge/knowledge_base.h"
#include "agent/prompts/model_answer.h"
#include "agent/settings.h"
#include "judge/profile/bottleneck.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

// Takes a profile of a candidate. To be called only while the judge measures nothing: the loop
// proposes when everything it was proposed has been observed, so nothing is on the device then, and
// the device's lock keeps other processes off it.
using TakeProfile = std::function<Result<Profile>(const Candidate& candidate)>;

// What is known of the work, as it was when the run began: `facts` if it begins now. Another GPU of
// the same kind, or a later program, may know it a little otherwise.
Result<profile::ProblemFacts> RememberedFacts(const profile::ProblemFacts& facts,
                                              store::RunMemos& memos);

// The profile of the node's kernel that the run took before, else a new one. It has no kernels where
// none can be had (`take` is empty, this is a replay, or `take` failed): that is no error, but an
// interrupt is.
Result<Profile> RememberedProfile(const Node& node, const TakeProfile& take,
                                  store::RunMemos& memos);

// Fills in report and states by the rules.
Status Diagnose(Node& node, Profile profile, Profiles shown, profile::ProblemFacts facts,
                knowledge::KnowledgeBase& base);

// The states as a model decided them, in place of the rules' for the kernels it names. A state that
// the base does not know is added as discovered.
Status TakeStates(Node& node, const std::vector<prompts::NamedState>& named,
                  knowledge::KnowledgeBase& base);

// Is there a kernel that the rules are unsure about, and is it worth a question?
bool IsUnsure(const Node& node);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_DIAGNOSIS_H_
