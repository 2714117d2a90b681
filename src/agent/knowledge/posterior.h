// What a knowledge base comes to: what to expect, an overview of all it says, how two bases differ.
//
// What to expect of a technique here: a Normal-Inverse-Gamma posterior on its log gain and a Beta
// posterior on whether anything measurable comes of it, from priors and discounted evidence.
//
// Evidence from other contexts is worth less, and no amount of it is worth more than a cap. Of n
// attempts that differ from here in some respects, each counts
//     w / (1 + w n / c),   w = product of the respects' factors, c = the smallest of their caps,
// so that n of them together count w n where n is small and never reach c:
//     respect                            factor   cap (attempts)
//     another technique went before       0.5      32
//     another toolchain                   0.9      64
//     another dtype                       0.5      16
//     another architecture                0.25      8
//     the coarser state ("a" for "a/b")   0.5      16
// The conjugate updates are those of Murphy, "Conjugate Bayesian analysis of the Gaussian
// distribution", section 6.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_POSTERIOR_H_
#define WARPSMITH_AGENT_KNOWLEDGE_POSTERIOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/knowledge/facts.h"
#include "base/random.h"
#include "core/verdict.h"

namespace warpsmith::knowledge {

// Where a kernel stands.
struct Situation {
  std::string state;
  Context context;
  std::string task;  // content id; empty: none in particular
};

struct Posterior {
  // Log gain, if any: mean | variance ~ N(mean, variance / kappa), variance ~ IG(alpha, beta).
  double mean = 0, kappa = 1, alpha = 2, beta = 0.04;  // unknown: 0 +- 0.2
  // That there is one to measure ~ Beta(successes, failures).
  double successes = 1, failures = 1;

  // For a reader: what it rests on.
  Tally here;               // this very context
  int64_t elsewhere = 0;    // attempts in other contexts
  double effective = 0;     // what all attempts count together
  double prior_weight = 0;  // pseudo-observations; not evidence
};

// `cells` and `priors` are of one technique; those of other states than the situation's and its
// coarser one are passed over. A prior of the coarser state counts half, and only where the state
// has none of its own.
Posterior PosteriorOf(const Situation& situation, std::span<const Cell> cells,
                      std::span<const Prior> priors);

// What of the cells differs from the situation in the same respects, and what it counts.
struct EvidenceClass {
  std::vector<std::string_view> differs;  // "previous", "toolchain", ...; empty: nothing does
  Tally tally;
  double counts_each = 1;  // of an attempt
};
// The closest first; classes without an attempt are left out.
std::vector<EvidenceClass> EvidenceClasses(const Situation& situation, std::span<const Cell> cells);

double SuccessProbability(const Posterior& posterior);
// What an attempt is worth, in log gain: a gain counts as often as the attempt succeeds.
double ExpectedValue(const Posterior& posterior);
// The same of one belief drawn from the posterior (Thompson sampling).
double SampledValue(const Posterior& posterior, Random& random);

// Shape >= 1, scale 1 (Marsaglia and Tsang, 2000).
double DrawGamma(double shape, Random& random);

// --- Thompson sampling: a technique is drawn about as often as it is believed to be the best.

// What must not be tried again blindly, and why: technique -> "hang (run:a#3)". Whoever knows
// better takes an entry out.
using Blocked = std::map<std::string, std::string, std::less<>>;

struct Belief {
  std::string technique;
  Posterior posterior;
};

struct Choice {
  std::string technique;
  double sampled_value = 0;   // why it was chosen
  double expected_value = 0;  // the prediction that what is measured will be held against
};

// Up to k of the techniques, best sample first, none twice, none that is blocked. The same beliefs
// in any order and the same random stream give the same answer.
std::vector<Choice> Draw(std::span<const Belief> beliefs, const Blocked& blocked, size_t k,
                         Random& random);

// --- All that a base says, as one value: the tables and the page that people read are made from
// it.

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

// --- How two bases differ.

struct NameChanges {
  std::vector<std::string> removed, added, changed;  // by name; changed: described otherwise
  bool operator==(const NameChanges&) const = default;
};

struct CellChange {
  CellKey key;
  Tally before, after;
};

struct Difference {
  NameChanges states, techniques, priors;  // a prior's name: "state + technique"
  std::vector<CellChange> cells;           // whose statistics differ
  int64_t outcomes_removed = 0, outcomes_added = 0, outcomes_shared = 0;  // by identity
  int64_t notes_removed = 0, notes_added = 0;
};

// From a to b, both in canonical form.
Difference Differences(const Contents& a, const Contents& b);
bool Empty(const Difference& difference);

// One line a difference, '-', '+' or '~' first; empty for none.
std::string DifferenceText(const Difference& difference);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_POSTERIOR_H_
