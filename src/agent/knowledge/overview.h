// All that a base says, as one value: the tables and the page that people read are made from it.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_OVERVIEW_H_
#define WARPSMITH_AGENT_KNOWLEDGE_OVERVIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/knowledge/contents.h"
#include "agent/knowledge/facts.h"
#include "agent/knowledge/posterior.h"
#include "core/verdict.h"

namespace warpsmith::knowledge {

// From where evidence is looked at. What is given discounts the evidence that differs in it
// (posterior.h); what is not given makes no difference.
struct Viewpoint {
  std::optional<std::string> architecture, dtype, toolchain, previous;
};
// What is not given is empty.
Context ContextOf(const Viewpoint& viewpoint);

// Where the mean log gain (ln of time before / time after) lies with that probability: Student's t
// with 2 alpha degrees of freedom, the posterior's marginal.
Interval CredibleMean(const Posterior& posterior, double probability);

struct Expected {
  std::string technique;
  Posterior posterior;
  Interval log_gain;                    // of its mean, with 90 %
  std::vector<EvidenceClass> evidence;  // the closest first
};

struct StateView {
  State state;
  Tally tally;                     // over all contexts
  std::vector<Expected> expected;  // of which anything is known; the most promising first
};

// A technique right after another: what the second brought there, and what it brings elsewhere.
struct Transition {
  std::string previous, technique;
  Tally after, otherwise;
};

struct Overview {
  Viewpoint viewpoint;
  std::vector<StateView> states;
  std::vector<Technique> techniques;
  std::vector<Transition> transitions;  // the most profitable first
  std::vector<Outcome> outcomes;
  std::vector<Note> notes;
  int64_t priors = 0, tasks = 0;
  Tally total;
};

// `contents` in canonical form. Equal contents give equal overviews.
Overview OverviewOf(const Contents& contents, const Viewpoint& viewpoint);

// The words beside an outcome: texts of the notes with its evidence on its state or technique.
std::vector<std::string> ReasonsOf(const Overview& overview, const Outcome& outcome);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_OVERVIEW_H_
