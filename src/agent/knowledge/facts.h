// What a knowledge base holds: states a kernel can be in, techniques that may help there, what came
// of each, and notes. All text may have been written by a model: Check() says what is taken.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_FACTS_H_
#define WARPSMITH_AGENT_KNOWLEDGE_FACTS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"

namespace warpsmith::knowledge {

inline constexpr size_t kMaxNameBytes = 128;
inline constexpr size_t kMaxLineBytes = 1024;  // descriptions, sources
inline constexpr size_t kMaxNoteBytes = 16'384;
// exp(10) is 22,000 times: what claims more is an accident. It also keeps sums of squares in 63
// bits.
inline constexpr double kMaxLogGain = 10;

enum class Origin : uint8_t { kKnown, kDiscovered };

struct State {
  std::string name;  // canonical; "primary" or "primary/secondary"
  Origin origin = Origin::kDiscovered;
  std::string description;  // one line
  auto operator<=>(const State&) const = default;
};

// The source of a technique that a model has named.
inline constexpr std::string_view kModelSource = "a model";

struct Technique {
  std::string name;  // canonical
  std::string description, source;
  auto operator<=>(const Technique&) const = default;
};

// A belief from before any measurement, as pseudo-observations. Never evidence.
struct Prior {
  std::string state, technique;
  double mean_log_gain = 0, sd_log_gain = 0;
  double weight = 0;   // how many observations it stands for
  double success = 1;  // share of attempts that end in something measured, 0 to 1
  std::string source;
  auto operator<=>(const Prior&) const = default;
};

// Under what a technique was applied.
struct Context {
  std::string architecture;  // "sm_90a"
  std::string dtype;         // "f16"
  std::string toolchain;     // "nvrtc 13.0"
  std::string previous;      // the technique applied before; empty: none
  auto operator<=>(const Context&) const = default;
};

enum class Failure : uint8_t { kCompileFailed, kIncorrect, kHang, kCrash, kRejected, kNoGain };
inline constexpr size_t kFailures = 6;
std::string_view Name(Failure failure);  // "compile-failed"
std::optional<Failure> FailureFromName(std::string_view name);
// What a judge's outcome says against a technique; nullopt: it passed, or tells nothing of it.
std::optional<Failure> FailureOf(const warpsmith::Outcome& verdict);
std::string_view Name(Origin origin);

struct Outcome {
  std::string evidence;  // a step (StepReference, core/step.h)
  std::string state, technique;
  Context context;
  std::string task;  // content id
  // ln(time before / time after), in steps of 1e-5 (Rounded): slower is negative and no failure.
  // Exactly one of the two is there. kNoGain: nothing measurable came of it.
  std::optional<double> log_gain;
  std::optional<Failure> failure;
  std::string date;  // UTC
};

// What makes an outcome one and the same, wherever it is found: its evidence, state and technique.
struct OutcomeKey {
  std::string evidence, state, technique;
  auto operator<=>(const OutcomeKey&) const = default;
};
OutcomeKey KeyOf(const Outcome& outcome);
// Equal but for the date, which says when it was noted.
bool SaysTheSame(const Outcome& a, const Outcome& b);

struct Note {
  std::string state, technique;  // empty: about any
  std::string text;
  std::string role;      // who wrote it: "perf-gap-analysis", "person"
  std::string evidence;  // as an outcome's, or empty
  auto operator<=>(const Note&) const = default;
};

// Hundred-thousandths of a log gain, the unit that is stored and summed.
int64_t GainE5(double log_gain);
double LogGainOfE5(int64_t gain_e5);
double Rounded(double log_gain);  // there and back

// Lower-case words of letters and digits joined by '-', '.' or '_', levels by '/'; anything else
// becomes '-': "Memory Bound / Uncoalesced" is "memory-bound/uncoalesced". Empty when no word is
// left. The same on its own result.
std::string CanonicalName(std::string_view text);
// "a/b" is a finer state of "a"; empty for "a".
std::string CoarserState(std::string_view state);

// Refused (kBadInput), with the words for it: names that are not canonical, text that is too long
// or not UTF-8, numbers out of range.
Status Check(const State& state);
Status Check(const Technique& technique);
Status Check(const Prior& prior);
Status Check(const Outcome& outcome);
Status Check(const Note& note);

// Counts and sums over outcomes. All integers: the same outcomes give the same tally in any order,
// added one by one or all at once.
struct Tally {
  int64_t measured = 0;  // outcomes with a gain
  int64_t sum_e5 = 0, squares_e10 = 0;
  std::array<int64_t, kFailures> failures = {};
  bool operator==(const Tally&) const = default;
};
Tally TallyOf(const Outcome& outcome);
Tally operator+(const Tally& a, const Tally& b);
Tally operator-(const Tally& whole, const Tally& part);

int64_t Failed(const Tally& tally);          // of all kinds, kNoGain too
int64_t Attempts(const Tally& tally);        // measured and failed
double MeanLogGain(const Tally& tally);      // 0 where nothing was measured
double VarianceLogGain(const Tally& tally);  // unbiased; 0 of fewer than two

// What a tally is about.
struct CellKey {
  std::string state, technique;
  Context context;
  auto operator<=>(const CellKey&) const = default;
};
struct Cell {
  CellKey key;
  Tally tally;
  bool operator==(const Cell&) const = default;
};

using Statistics = std::map<CellKey, Tally>;
Statistics StatisticsOf(std::span<const Outcome> outcomes);

// --- All that a base holds, as a value: what is exported, imported, merged and compared.

// In canonical form (InOrder): sorted, each identity once.
struct Contents {
  std::vector<State> states;          // by name
  std::vector<Technique> techniques;  // by name
  std::vector<Prior> priors;          // by state, technique
  std::vector<Outcome> outcomes;      // by evidence, state, technique
  std::vector<Note> notes;
};

// Which of two descriptions of one thing stays: the same, whichever comes first.
// A described one, then a known (documented) one, then the first in byte order.
const State& Preferred(const State& a, const State& b);
const Technique& Preferred(const Technique& a, const Technique& b);
const Prior& Preferred(const Prior& a, const Prior& b);

// kBadInput: one piece of evidence is told in two ways. Which of them is right, we cannot know.
Error Contradiction(const Outcome& a, const Outcome& b);

// Sorted, each identity once.
Result<Contents> InOrder(Contents contents);

// Both, what they share once. In either order, any grouping, and with itself.
Result<Contents> Merged(Contents a, const Contents& b);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_FACTS_H_
