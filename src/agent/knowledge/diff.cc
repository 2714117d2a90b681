#include "agent/knowledge/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace warpsmith::knowledge {
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
