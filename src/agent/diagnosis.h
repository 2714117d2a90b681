// Looks at kernels that passed: profile, bottlenecks, and the state of each kernel of the program.
#ifndef WARPSMITH_AGENT_DIAGNOSIS_H_
#define WARPSMITH_AGENT_DIAGNOSIS_H_

#include <functional>
#include <utility>
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

class Diagnosis {
 public:
  // `take` may be empty: then there are only remembered profiles, or none.
  Diagnosis(const Settings& settings, profile::ProblemFacts facts, TakeProfile take,
            store::RunMemos* memos)
      : settings_(settings), facts_(facts), take_(std::move(take)), memos_(memos) {}

  // What is known of the work is remembered with the run, too: another GPU of the same kind, or a
  // later program, may know it a little otherwise. To be called first.
  Status Begin();

  // Fills in report and states by the rules, once. A profile that cannot be had is no error, but
  // an interrupt is.
  Status Diagnose(Node& node, knowledge::KnowledgeBase& base);

 private:
  Result<Profile> ProfileOf(const Node& node);

  const Settings& settings_;
  profile::ProblemFacts facts_;
  const TakeProfile take_;
  store::RunMemos* memos_;
};

// The states as a model decided them, in place of the rules' for the kernels it names. A state that
// the base does not know is added as discovered.
Status TakeStates(Node& node, const std::vector<prompts::NamedState>& named,
                  knowledge::KnowledgeBase& base);

// Is there a kernel that the rules are unsure about, and is it worth a question?
bool IsUnsure(const Node& node);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_DIAGNOSIS_H_
