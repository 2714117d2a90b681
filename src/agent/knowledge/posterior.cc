#include "agent/knowledge/posterior.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace warpsmith::knowledge {
namespace {

struct Discount {
  std::string_view respect;
  double factor = 1, cap = 1;
};
// In the order of Differences' bits; posterior.h explains.
constexpr std::array<Discount, 5> kDiscounts = {{{"previous", 0.5, 32},
                                                 {"toolchain", 0.9, 64},
                                                 {"dtype", 0.5, 16},
                                                 {"architecture", 0.25, 8},
                                                 {"state", 0.5, 16}}};
constexpr size_t kClasses = size_t{1} << kDiscounts.size();
constexpr double kCoarserPrior = 0.5;

// One bit a respect in which the cell differs from the situation; 0: none.
size_t Differences(const Situation& situation, const CellKey& key) {
  const Context& here = situation.context;
  const Context& there = key.context;
  return static_cast<size_t>(there.previous != here.previous) |
         static_cast<size_t>(there.toolchain != here.toolchain) << 1U |
         static_cast<size_t>(there.dtype != here.dtype) << 2U |
         static_cast<size_t>(there.architecture != here.architecture) << 3U |
         static_cast<size_t>(key.state != situation.state) << 4U;
}

// What each of `attempts` counts.
double WeightOf(size_t differences, int64_t attempts) {
  if (differences == 0) return 1;
  double factor = 1, cap = 1e9;
  for (size_t i = 0; i < kDiscounts.size(); ++i) {
    if ((differences >> i & 1U) == 0) continue;
    factor *= kDiscounts[i].factor;
    cap = std::min(cap, kDiscounts[i].cap);
  }
  // The first attempts count `factor` each, later ones less: all together never count more than the
  // cap, however many there are elsewhere.
  return factor / (1 + factor * static_cast<double>(attempts) / cap);
}

using Classes = std::array<Tally, kClasses>;

Classes ClassesOf(const Situation& situation, std::span<const Cell> cells) {
  const std::string coarser = CoarserState(situation.state);
  Classes classes = {};
  for (const Cell& cell : cells) {
    if (cell.key.state != situation.state && cell.key.state != coarser) continue;
    Tally& tally = classes.at(Differences(situation, cell.key));
    tally = tally + cell.tally;
  }
  return classes;
}

// `n` observations of that mean, `deviations` = the sum of their squared distances from it.
void Observe(Posterior* posterior, double n, double mean, double deviations) {
  if (n <= 0) return;
  // The conjugate update of a normal-inverse-gamma belief. `n` need not be whole: what is
  // discounted counts as a part of an observation.
  const double kappa = posterior->kappa + n;
  const double distance = mean - posterior->mean;
  posterior->beta += deviations / 2 + posterior->kappa * n * distance * distance / (2 * kappa);
  posterior->mean = (posterior->kappa * posterior->mean + n * mean) / kappa;
  posterior->kappa = kappa;
  posterior->alpha += n / 2;
}

void Observe(Posterior* posterior, const Tally& tally, double weight) {
  const auto measured = static_cast<double>(tally.measured);
  Observe(posterior, weight * measured, MeanLogGain(tally),
          weight * VarianceLogGain(tally) * std::max(0.0, measured - 1));
  posterior->successes += weight * measured;
  posterior->failures += weight * static_cast<double>(Failed(tally));
  posterior->effective += weight * static_cast<double>(Attempts(tally));
}

void Observe(Posterior* posterior, const Prior& prior, double factor) {
  const double weight = prior.weight * factor;
  Observe(posterior, weight, prior.mean_log_gain, weight * prior.sd_log_gain * prior.sd_log_gain);
  posterior->successes += weight * prior.success;
  posterior->failures += weight * (1 - prior.success);
  posterior->prior_weight += weight;
}

void ObservePriors(Posterior* posterior, const std::string& state, std::span<const Prior> priors) {
  const std::string coarser = CoarserState(state);
  const auto of = [&](std::string_view name) {
    return std::find_if(priors.begin(), priors.end(),
                        [&](const Prior& prior) { return prior.state == name; });
  };
  if (const auto own = of(state); own != priors.end()) {
    Observe(posterior, *own, 1);
  } else if (const auto theirs = of(coarser); theirs != priors.end()) {
    Observe(posterior, *theirs, kCoarserPrior);
  }
}

double Value(double success, double log_gain) {
  return log_gain > 0 ? success * log_gain : log_gain;
}

}  // namespace

Posterior PosteriorOf(const Situation& situation, std::span<const Cell> cells,
                      std::span<const Prior> priors) {
  Posterior posterior;
  ObservePriors(&posterior, situation.state, priors);
  const Classes classes = ClassesOf(situation, cells);
  posterior.here = classes[0];
  for (size_t differences = 0; differences < kClasses; ++differences) {
    const Tally& tally = classes.at(differences);
    Observe(&posterior, tally, WeightOf(differences, Attempts(tally)));
    if (differences != 0) posterior.elsewhere += Attempts(tally);
  }
  return posterior;
}

std::vector<EvidenceClass> EvidenceClasses(const Situation& situation,
                                           std::span<const Cell> cells) {
  const Classes classes = ClassesOf(situation, cells);
  std::vector<EvidenceClass> evidence;
  for (size_t differences = 0; differences < kClasses; ++differences) {
    const Tally& tally = classes.at(differences);
    if (Attempts(tally) == 0) continue;
    EvidenceClass one{{}, tally, WeightOf(differences, Attempts(tally))};
    for (size_t i = 0; i < kDiscounts.size(); ++i) {
      if ((differences >> i & 1U) != 0) one.differs.push_back(kDiscounts.at(i).respect);
    }
    evidence.push_back(std::move(one));
  }
  std::stable_sort(evidence.begin(), evidence.end(),
                   [](const EvidenceClass& a, const EvidenceClass& b) {
                     return a.differs.size() < b.differs.size();
                   });
  return evidence;
}

double SuccessProbability(const Posterior& posterior) {
  return posterior.successes / (posterior.successes + posterior.failures);
}

double ExpectedValue(const Posterior& posterior) {
  return Value(SuccessProbability(posterior), posterior.mean);
}

double SampledValue(const Posterior& posterior, Random& random) {
  const double variance = posterior.beta / DrawGamma(posterior.alpha, random);
  const double mean = posterior.mean + random.Normal() * std::sqrt(variance / posterior.kappa);
  const double successes = DrawGamma(posterior.successes, random);
  const double failures = DrawGamma(posterior.failures, random);
  return Value(successes / (successes + failures), mean);
}

double DrawGamma(double shape, Random& random) {
  CHECK(shape >= 1);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.Normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1 - random.Uniform();  // in (0, 1]
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

std::vector<Choice> Draw(std::span<const Belief> beliefs, const Blocked& blocked, size_t k,
                         Random& random) {
  // In the order of names. One random stream draws for all, and what it draws must not depend on
  // the order in which a base lists its techniques.
  std::map<std::string_view, const Posterior*> candidates;
  for (const Belief& belief : beliefs) {
    if (!blocked.contains(belief.technique)) {
      candidates.emplace(belief.technique, &belief.posterior);
    }
  }
  std::vector<Choice> choices;
  for (const auto& [technique, posterior] : candidates) {
    const double sampled = SampledValue(*posterior, random);
    choices.push_back({std::string(technique), sampled, ExpectedValue(*posterior)});
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.sampled_value > b.sampled_value;
  });
  if (choices.size() > k) choices.resize(k);
  return choices;
}

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

namespace {

std::string NameOf(const State& state) { return state.name; }
std::string NameOf(const Technique& technique) { return technique.name; }
std::string NameOf(const Prior& prior) { return prior.state + " + " + prior.technique; }

template <typename T>
NameChanges ChangesOf(const std::vector<T>& before, const std::vector<T>& after) {
  std::map<std::string, const T*> old;
  for (const T& item : before) old.emplace(NameOf(item), &item);
  NameChanges changes;
  for (const T& item : after) {
    const auto found = old.find(NameOf(item));
    if (found == old.end()) {
      changes.added.push_back(NameOf(item));
      continue;
    }
    if (*found->second != item) changes.changed.push_back(NameOf(item));
    old.erase(found);
  }
  for (const auto& [name, item] : old) changes.removed.push_back(name);
  return changes;
}

std::vector<CellChange> ChangesOf(const Statistics& before, const Statistics& after) {
  Statistics all = before;
  all.insert(after.begin(), after.end());
  std::vector<CellChange> changes;
  for (const auto& [key, tally] : all) {
    const auto old = before.find(key), now = after.find(key);
    const CellChange change{key, old == before.end() ? Tally() : old->second,
                            now == after.end() ? Tally() : now->second};
    if (!(change.before == change.after)) changes.push_back(change);
  }
  return changes;
}

template <typename Key>
int64_t Lacking(const std::set<Key>& in, const std::set<Key>& of) {
  return std::count_if(of.begin(), of.end(), [&](const Key& key) { return !in.contains(key); });
}

std::set<OutcomeKey> KeysOf(const std::vector<Outcome>& outcomes) {
  std::set<OutcomeKey> keys;
  for (const Outcome& outcome : outcomes) keys.insert(KeyOf(outcome));
  return keys;
}

std::string RecordLines(const char* what, const NameChanges& changes) {
  std::string text;
  const auto add = [&](const char* mark, const std::vector<std::string>& names) {
    for (const std::string& name : names) text += std::string(mark) + what + " " + name + "\n";
  };
  add("- ", changes.removed);
  add("+ ", changes.added);
  add("~ ", changes.changed);
  return text;
}

std::string TallyText(const Tally& tally) {
  return fmt::format("{} measured, mean {:.4g}x, {} failed", tally.measured,
                     std::exp(MeanLogGain(tally)), Failed(tally));
}

std::string Line(const CellChange& change) {
  const auto& [state, technique, context] = change.key;
  std::string text = "~ statistics " + state + " + " + technique + " on " + context.architecture +
                     ", " + context.dtype + ", " + context.toolchain;
  if (!context.previous.empty()) text += ", after " + context.previous;
  return text + ": " + TallyText(change.before) + " -> " + TallyText(change.after) + "\n";
}

std::string Count(char mark, int64_t count, const char* what) {
  if (count == 0) return "";
  return std::string(1, mark) + " " + std::to_string(count) + " " + what + "\n";
}

}  // namespace

Difference Differences(const Contents& a, const Contents& b) {
  Difference difference;
  difference.states = ChangesOf(a.states, b.states);
  difference.techniques = ChangesOf(a.techniques, b.techniques);
  difference.priors = ChangesOf(a.priors, b.priors);
  difference.cells = ChangesOf(StatisticsOf(a.outcomes), StatisticsOf(b.outcomes));
  const std::set<OutcomeKey> before = KeysOf(a.outcomes), after = KeysOf(b.outcomes);
  difference.outcomes_removed = Lacking(after, before);
  difference.outcomes_added = Lacking(before, after);
  difference.outcomes_shared = static_cast<int64_t>(before.size()) - difference.outcomes_removed;
  const std::set<Note> notes_before(a.notes.begin(), a.notes.end());
  const std::set<Note> notes_after(b.notes.begin(), b.notes.end());
  difference.notes_removed = Lacking(notes_after, notes_before);
  difference.notes_added = Lacking(notes_before, notes_after);
  return difference;
}

bool Empty(const Difference& difference) { return DifferenceText(difference).empty(); }

std::string DifferenceText(const Difference& difference) {
  std::string text = RecordLines("state", difference.states) +
                     RecordLines("technique", difference.techniques) +
                     RecordLines("prior", difference.priors);
  for (const CellChange& change : difference.cells) text += Line(change);
  return text + Count('-', difference.outcomes_removed, "outcomes") +
         Count('+', difference.outcomes_added, "outcomes") +
         Count('-', difference.notes_removed, "notes") +
         Count('+', difference.notes_added, "notes");
}

}  // namespace warpsmith::knowledge
