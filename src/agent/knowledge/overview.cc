#include "agent/knowledge/overview.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace warpsmith::knowledge {
namespace {

constexpr double kProbability = 0.9;

// As seen from the viewpoint: what it leaves open is the same everywhere.
Context Seen(const Context& context, const Viewpoint& viewpoint) {
  return {viewpoint.architecture ? context.architecture : "", viewpoint.dtype ? context.dtype : "",
          viewpoint.toolchain ? context.toolchain : "", viewpoint.previous ? context.previous : ""};
}

using CellsOfState = std::map<std::string, std::map<std::string, std::vector<Cell>>>;

CellsOfState CellsSeen(const Contents& contents, const Viewpoint& viewpoint) {
  Statistics seen;
  for (const auto& [key, tally] : StatisticsOf(contents.outcomes)) {
    Tally& sum = seen[{key.state, key.technique, Seen(key.context, viewpoint)}];
    sum = sum + tally;
  }
  CellsOfState cells;
  for (const auto& [key, tally] : seen) cells[key.state][key.technique].push_back({key, tally});
  return cells;
}

using PriorsOfState = std::map<std::string, std::map<std::string, std::vector<Prior>>>;

PriorsOfState PriorsOf(const Contents& contents) {
  PriorsOfState priors;
  for (const Prior& prior : contents.priors) priors[prior.state][prior.technique].push_back(prior);
  return priors;
}

template <typename Nested, typename List>
void Append(const Nested& from, const std::string& state, const std::string& technique,
            List* into) {
  const auto of_state = from.find(state);
  if (of_state == from.end()) return;
  const auto found = of_state->second.find(technique);
  if (found == of_state->second.end()) return;
  into->insert(into->end(), found->second.begin(), found->second.end());
}

void SortByPromise(std::vector<Expected>* expected) {
  std::stable_sort(expected->begin(), expected->end(), [](const Expected& a, const Expected& b) {
    return ExpectedValue(a.posterior) > ExpectedValue(b.posterior);
  });
}

StateView ViewOf(const State& state, const Contents& contents, const Viewpoint& viewpoint,
                 const CellsOfState& cells, const PriorsOfState& priors) {
  StateView view{state, {}, {}};
  const Situation situation{state.name, ContextOf(viewpoint), ""};
  for (const Technique& technique : contents.techniques) {
    std::vector<Cell> bearing;
    std::vector<Prior> guesses;
    for (const std::string& name : {state.name, CoarserState(state.name)}) {
      Append(cells, name, technique.name, &bearing);
      Append(priors, name, technique.name, &guesses);
    }
    if (bearing.empty() && guesses.empty()) continue;
    const Posterior posterior = PosteriorOf(situation, bearing, guesses);
    view.expected.push_back({technique.name, posterior, CredibleMean(posterior, kProbability),
                             EvidenceClasses(situation, bearing)});
    for (const Cell& cell : bearing) {
      if (cell.key.state == state.name) view.tally = view.tally + cell.tally;
    }
  }
  SortByPromise(&view.expected);
  return view;
}

std::vector<Transition> TransitionsOf(const std::vector<Outcome>& outcomes) {
  std::map<std::string, Tally> all;
  std::map<std::pair<std::string, std::string>, Tally> after;
  for (const Outcome& outcome : outcomes) {
    Tally& whole = all[outcome.technique];
    whole = whole + TallyOf(outcome);
    if (outcome.context.previous.empty()) continue;
    Tally& part = after[{outcome.context.previous, outcome.technique}];
    part = part + TallyOf(outcome);
  }
  std::vector<Transition> transitions;
  for (const auto& [names, tally] : after) {
    transitions.push_back({names.first, names.second, tally, all[names.second] - tally});
  }
  const auto gain = [](const Transition& transition) {
    return std::pair(transition.after.measured > 0, MeanLogGain(transition.after));
  };
  std::stable_sort(transitions.begin(), transitions.end(),
                   [&](const Transition& a, const Transition& b) { return gain(a) > gain(b); });
  return transitions;
}

}  // namespace

Context ContextOf(const Viewpoint& viewpoint) {
  return {viewpoint.architecture.value_or(""), viewpoint.dtype.value_or(""),
          viewpoint.toolchain.value_or(""), viewpoint.previous.value_or("")};
}

Interval CredibleMean(const Posterior& posterior, double probability) {
  const boost::math::students_t distribution(2 * posterior.alpha);
  const double scale = std::sqrt(posterior.beta / (posterior.alpha * posterior.kappa));
  const double half = boost::math::quantile(distribution, 0.5 + probability / 2) * scale;
  return {posterior.mean - half, posterior.mean + half};
}

Overview OverviewOf(const Contents& contents, const Viewpoint& viewpoint) {
  Overview overview;
  overview.viewpoint = viewpoint;
  overview.techniques = contents.techniques;
  overview.outcomes = contents.outcomes;
  overview.notes = contents.notes;
  overview.priors = static_cast<int64_t>(contents.priors.size());
  overview.transitions = TransitionsOf(contents.outcomes);
  std::set<std::string> tasks;
  for (const Outcome& outcome : contents.outcomes) {
    tasks.insert(outcome.task);
    overview.total = overview.total + TallyOf(outcome);
  }
  overview.tasks = static_cast<int64_t>(tasks.size());
  const CellsOfState cells = CellsSeen(contents, viewpoint);
  const PriorsOfState priors = PriorsOf(contents);
  for (const State& state : contents.states) {
    overview.states.push_back(ViewOf(state, contents, viewpoint, cells, priors));
  }
  return overview;
}

std::vector<std::string> ReasonsOf(const Overview& overview, const Outcome& outcome) {
  std::vector<std::string> reasons;
  for (const Note& note : overview.notes) {
    const bool fits = note.evidence == outcome.evidence &&
                      (note.state.empty() || note.state == outcome.state) &&
                      (note.technique.empty() || note.technique == outcome.technique);
    if (fits) reasons.push_back(note.text);
  }
  return reasons;
}

}  // namespace warpsmith::knowledge
