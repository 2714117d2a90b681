#include "agent/knowledge/facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/core.h>

#include "base/utf8.h"

namespace warpsmith::knowledge {
namespace {

constexpr double kSteps = 1e5;  // of a log gain of 1
constexpr std::array<std::string_view, kFailures> kFailureNames = {
    "compile-failed", "incorrect", "hang", "crash", "rejected", "no-gain"};

bool IsWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsJoint(char c) { return c == '-' || c == '.' || c == '_' || c == '/'; }

char Lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Error Refused(std::string_view what, std::string_view name, const std::string& why) {
  const std::string shown = ValidUtf8(name.substr(0, 60));
  return {ErrorCode::kBadInput, std::string(what) + " \"" + shown + "\": " + why,
          "correct it, or leave it out"};
}

Status CheckSize(std::string_view what, std::string_view name, std::string_view field,
                 std::string_view text, size_t most_bytes) {
  if (text.size() <= most_bytes) return {};
  return Refused(what, name,
                 std::string(field) + " has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(most_bytes) + " are taken");
}

Status CheckText(std::string_view what, std::string_view name, std::string_view field,
                 std::string_view text, size_t most_bytes) {
  TRY(CheckSize(what, name, field, text, most_bytes));
  if (!IsUtf8(text)) return Refused(what, name, std::string(field) + " is not UTF-8");
  if (text.find('\0') != text.npos) {
    return Refused(what, name, std::string(field) + " holds a NUL byte");
  }
  return {};
}

Status CheckName(std::string_view what, std::string_view name) {
  TRY(CheckSize(what, name, "its name", name, kMaxNameBytes));
  if (name.empty() || CanonicalName(name) != name) {
    return Refused(what, name, "not a canonical name (lower-case words joined by '-', '.', '_')");
  }
  return {};
}

Status CheckNumber(std::string_view what, std::string_view name, std::string_view field,
                   double value, double lowest, double highest) {
  if (value >= lowest && value <= highest) return {};
  return Refused(what, name,
                 fmt::format("{} is {:g}, not from {:g} to {:g}", field, value, lowest, highest));
}

}  // namespace

std::string_view Name(Failure failure) { return kFailureNames.at(static_cast<size_t>(failure)); }

std::optional<Failure> FailureOf(const warpsmith::Outcome& verdict) {
  if (std::holds_alternative<CompileFailed>(verdict)) return Failure::kCompileFailed;
  if (std::holds_alternative<Incorrect>(verdict)) return Failure::kIncorrect;
  if (std::holds_alternative<TimedOut>(verdict)) return Failure::kHang;
  if (std::holds_alternative<RunFailed>(verdict)) return Failure::kCrash;
  if (std::holds_alternative<Rejected>(verdict)) return Failure::kRejected;
  return std::nullopt;
}

std::optional<Failure> FailureFromName(std::string_view name) {
  const auto found = std::find(kFailureNames.begin(), kFailureNames.end(), name);
  if (found == kFailureNames.end()) return std::nullopt;
  return static_cast<Failure>(found - kFailureNames.begin());
}

std::string_view Name(Origin origin) { return origin == Origin::kKnown ? "known" : "discovered"; }

OutcomeKey KeyOf(const Outcome& outcome) {
  return {outcome.evidence, outcome.state, outcome.technique};
}

bool SaysTheSame(const Outcome& a, const Outcome& b) {
  const auto gain = [](const Outcome& o) { return o.log_gain ? GainE5(*o.log_gain) : 0; };
  return KeyOf(a) == KeyOf(b) && a.context == b.context && a.task == b.task &&
         a.failure == b.failure && gain(a) == gain(b);
}

int64_t GainE5(double log_gain) { return std::llround(log_gain * kSteps); }

double LogGainOfE5(int64_t gain_e5) { return static_cast<double>(gain_e5) / kSteps; }

double Rounded(double log_gain) { return LogGainOfE5(GainE5(log_gain)); }

std::string CanonicalName(std::string_view text) {
  std::string name;
  char joint = 0;  // between the last word and the next
  for (const char raw : text) {
    const char c = Lowered(raw);
    if (IsWordCharacter(c)) {
      if (joint != 0 && !name.empty()) name += joint;
      joint = 0;
      name += c;
    } else if (joint != '/') {
      joint = IsJoint(c) && (joint == 0 || c == '/') ? c : joint == 0 ? '-' : joint;
    }
  }
  return name;
}

std::string CoarserState(std::string_view state) {
  const size_t slash = state.rfind('/');
  return std::string(slash == state.npos ? std::string_view() : state.substr(0, slash));
}

Status Check(const State& state) {
  TRY(CheckName("state", state.name));
  return CheckText("state", state.name, "its description", state.description, kMaxLineBytes);
}

Status Check(const Technique& technique) {
  TRY(CheckName("technique", technique.name));
  TRY(CheckText("technique", technique.name, "its description", technique.description,
                kMaxLineBytes));
  return CheckText("technique", technique.name, "its source", technique.source, kMaxLineBytes);
}

Status Check(const Prior& prior) {
  constexpr double kMaxWeight = 1000;
  const std::string name = prior.state + " + " + prior.technique;
  TRY(CheckName("prior of state", prior.state));
  TRY(CheckName("prior of technique", prior.technique));
  TRY(CheckNumber("prior", name, "mean_log_gain", prior.mean_log_gain, -kMaxLogGain, kMaxLogGain));
  TRY(CheckNumber("prior", name, "sd_log_gain", prior.sd_log_gain, 0, kMaxLogGain));
  TRY(CheckNumber("prior", name, "weight", prior.weight, 0, kMaxWeight));
  TRY(CheckNumber("prior", name, "success", prior.success, 0, 1));
  return CheckText("prior", name, "its source", prior.source, kMaxLineBytes);
}

Status Check(const Outcome& outcome) {
  TRY(CheckName("outcome in state", outcome.state));
  TRY(CheckName("outcome of technique", outcome.technique));
  const auto& [architecture, dtype, toolchain, previous] = outcome.context;
  if (!previous.empty()) TRY(CheckName("outcome after technique", previous));
  const std::string& name = outcome.evidence;
  for (const std::string* text :
       {&outcome.evidence, &architecture, &dtype, &toolchain, &outcome.task, &outcome.date}) {
    TRY(CheckText("outcome", name, "a field", *text, kMaxLineBytes));
  }
  if (outcome.evidence.empty()) return Refused("outcome", name, "it names no evidence");
  if (outcome.log_gain.has_value() == outcome.failure.has_value()) {
    return Refused("outcome", name, "it has to have either a gain or a failure");
  }
  const double gain = outcome.log_gain.value_or(0);
  return CheckNumber("outcome", name, "log_gain", gain, -kMaxLogGain, kMaxLogGain);
}

Status Check(const Note& note) {
  const std::string_view name = std::string_view(note.text).substr(0, kMaxLineBytes);
  if (!note.state.empty()) TRY(CheckName("note on state", note.state));
  if (!note.technique.empty()) TRY(CheckName("note on technique", note.technique));
  if (note.text.empty()) return Refused("note", note.role, "it says nothing");
  TRY(CheckText("note", name, "its text", note.text, kMaxNoteBytes));
  TRY(CheckText("note", name, "its role", note.role, kMaxLineBytes));
  return CheckText("note", name, "its evidence", note.evidence, kMaxLineBytes);
}

Tally TallyOf(const Outcome& outcome) {
  Tally tally;
  if (outcome.failure) {
    tally.failures.at(static_cast<size_t>(*outcome.failure)) = 1;
  } else if (outcome.log_gain) {
    const int64_t gain_e5 = GainE5(*outcome.log_gain);
    tally.measured = 1;
    tally.sum_e5 = gain_e5;
    tally.squares_e10 = gain_e5 * gain_e5;
  }
  return tally;
}

Tally operator+(const Tally& a, const Tally& b) {
  Tally sum{a.measured + b.measured, a.sum_e5 + b.sum_e5, a.squares_e10 + b.squares_e10, {}};
  for (size_t i = 0; i < kFailures; ++i) sum.failures[i] = a.failures[i] + b.failures[i];
  return sum;
}

Tally operator-(const Tally& whole, const Tally& part) {
  Tally rest{whole.measured - part.measured,
             whole.sum_e5 - part.sum_e5,
             whole.squares_e10 - part.squares_e10,
             {}};
  for (size_t i = 0; i < kFailures; ++i) rest.failures[i] = whole.failures[i] - part.failures[i];
  return rest;
}

int64_t Failed(const Tally& tally) {
  return std::accumulate(tally.failures.begin(), tally.failures.end(), int64_t{0});
}

int64_t Attempts(const Tally& tally) { return tally.measured + Failed(tally); }

double MeanLogGain(const Tally& tally) {
  if (tally.measured == 0) return 0;
  return static_cast<double>(tally.sum_e5) * 1e-5 / static_cast<double>(tally.measured);
}

double VarianceLogGain(const Tally& tally) {
  if (tally.measured < 2) return 0;
  const auto n = static_cast<double>(tally.measured);
  const double mean = MeanLogGain(tally);
  const double squares = static_cast<double>(tally.squares_e10) * 1e-10;
  return std::max(0.0, squares - n * mean * mean) / (n - 1);
}

Statistics StatisticsOf(std::span<const Outcome> outcomes) {
  Statistics statistics;
  for (const Outcome& outcome : outcomes) {
    Tally& tally = statistics[{outcome.state, outcome.technique, outcome.context}];
    tally = tally + TallyOf(outcome);
  }
  return statistics;
}

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
