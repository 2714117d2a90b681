#include "agent/knowledge/contents.h"

#include <algorithm>
#include <tuple>

namespace warpsmith::knowledge {
namespace {

// Of each run of equal names, the preferred one.
template <typename T, typename KeyFunction>
void KeepPreferred(std::vector<T>& items, KeyFunction key) {
  std::stable_sort(items.begin(), items.end(),
                   [&](const T& a, const T& b) { return key(a) < key(b); });
  std::vector<T> kept;
  for (T& item : items) {
    if (!kept.empty() && key(kept.back()) == key(item)) {
      if (&Preferred(kept.back(), item) == &item) kept.back() = std::move(item);
    } else {
      kept.push_back(std::move(item));
    }
  }
  items = std::move(kept);
}

Status KeepOnce(std::vector<Outcome>& outcomes) {
  std::sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    return std::tie(a.evidence, a.state, a.technique, a.date) <
           std::tie(b.evidence, b.state, b.technique, b.date);
  });
  for (size_t i = 1; i < outcomes.size(); ++i) {
    const Outcome &before = outcomes[i - 1], &here = outcomes[i];
    if (KeyOf(before) == KeyOf(here) && !SaysTheSame(before, here)) {
      return Contradiction(before, here);
    }
  }
  outcomes.erase(std::unique(outcomes.begin(), outcomes.end(), SaysTheSame), outcomes.end());
  return {};
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string OutcomeText(const Outcome& outcome) {
  const std::string result = outcome.failure ? std::string(Name(*outcome.failure))
                                             : "gain " + std::to_string(*outcome.log_gain);
  const auto& [architecture, dtype, toolchain, previous] = outcome.context;
  return result + " on " + architecture + ", " + dtype + ", " + toolchain + ", after \"" +
         previous + "\"";
}

}  // namespace

// A description comes before none (a name alone says nothing against what is known of it), then
// what is documented before what a model or a run has found.
const State& Preferred(const State& a, const State& b) {
  const auto rank = [](const State& state) {
    return std::tuple(state.description.empty(), state.origin, state.description);
  };
  return rank(b) < rank(a) ? b : a;
}

const Technique& Preferred(const Technique& a, const Technique& b) {
  const auto rank = [](const Technique& technique) {
    return std::tuple(technique.description.empty(), technique.source == kModelSource, technique);
  };
  return rank(b) < rank(a) ? b : a;
}

const Prior& Preferred(const Prior& a, const Prior& b) { return b < a ? b : a; }

Error Contradiction(const Outcome& a, const Outcome& b) {
  return {ErrorCode::kBadInput,
          "two outcomes of technique " + a.technique + " in state " + a.state + " rest on " +
              a.evidence + " and contradict each other: " + OutcomeText(a) + "; " + OutcomeText(b),
          "one of the bases was edited or damaged; export both and compare them"};
}

Result<Contents> InOrder(Contents contents) {
  KeepPreferred(contents.states, [](const State& s) { return std::tie(s.name); });
  KeepPreferred(contents.techniques, [](const Technique& t) { return std::tie(t.name); });
  KeepPreferred(contents.priors, [](const Prior& p) { return std::tie(p.state, p.technique); });
  TRY(KeepOnce(contents.outcomes));
  for (Outcome& outcome : contents.outcomes) {
    if (outcome.log_gain) outcome.log_gain = Rounded(*outcome.log_gain);
  }
  auto& notes = contents.notes;
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return contents;
}

Result<Contents> Merged(Contents a, const Contents& b) {
  Append(a.states, b.states);
  Append(a.techniques, b.techniques);
  Append(a.priors, b.priors);
  Append(a.outcomes, b.outcomes);
  Append(a.notes, b.notes);
  return InOrder(std::move(a));
}

}  // namespace warpsmith::knowledge
