#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/knowledge_report.h"

namespace warpsmith::report {
namespace {

using knowledge::Expected;
using knowledge::Overview;
using knowledge::StateView;

constexpr size_t kLinesOfAList = 20;

std::string Gain(double log_gain) { return fmt::format("{:.3g}x", std::exp(log_gain)); }

std::string FailuresText(const knowledge::Tally& tally) {
  std::string text;
  for (size_t i = 0; i < knowledge::kFailures; ++i) {
    if (tally.failures.at(i) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tally.failures.at(i),
                        knowledge::Name(static_cast<knowledge::Failure>(i)));
  }
  return text.empty() ? "0" : text;
}

// "40 count 4.4": attempts elsewhere, and what they count together.
std::string ElsewhereText(const Expected& expected) {
  double counts = 0;
  for (const knowledge::EvidenceClass& one : expected.evidence) {
    if (one.differs.empty()) continue;
    counts += one.counts_each * static_cast<double>(knowledge::Attempts(one.tally));
  }
  const int64_t attempts = expected.posterior.elsewhere;
  return attempts == 0 ? "0" : fmt::format("{} count {:.2g}", attempts, counts);
}

Tone ToneOfCell(const Expected& expected) {
  if (expected.log_gain.lo > 0) return Tone::kGood;
  return expected.log_gain.hi < 0 ? Tone::kBad : Tone::kPlain;
}

std::vector<Column> Columns() {
  return {{"state"},
          {"technique"},
          {"gain", Align::kRight},
          {"90 % interval", Align::kRight},
          {"succeeds", Align::kRight},
          {"measured", Align::kRight},
          {"failed", Align::kRight},
          {"elsewhere", Align::kRight},
          {"guess", Align::kRight}};
}

std::vector<Cell> Row(const std::string& state, const Expected& expected) {
  const knowledge::Posterior& posterior = expected.posterior;
  return {{state},
          {expected.technique},
          {Gain(posterior.mean), ToneOfCell(expected)},
          {fmt::format("{:.3g}..{:.3g}", std::exp(expected.log_gain.lo),
                       std::exp(expected.log_gain.hi))},
          {fmt::format("{:.0f} %", 100 * knowledge::SuccessProbability(posterior))},
          {std::to_string(posterior.here.measured)},
          {FailuresText(posterior.here)},
          {ElsewhereText(expected)},
          {posterior.prior_weight == 0 ? "-" : fmt::format("{:.2g}", posterior.prior_weight)}};
}

void AddRows(const StateView& view, size_t most, std::vector<std::vector<Cell>>* rows) {
  const size_t shown = most == 0 ? view.expected.size() : std::min(most, view.expected.size());
  for (size_t i = 0; i < shown; ++i) {
    rows->push_back(Row(i == 0 ? view.state.name : "", view.expected[i]));
  }
  if (!view.expected.empty()) return;
  rows->emplace_back(Columns().size());
  rows->back().front().text = view.state.name;
}

std::string Joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

// What evidence from elsewhere counts here.
std::string DiscountLines(const StateView& view) {
  std::string text;
  for (const Expected& expected : view.expected) {
    for (const knowledge::EvidenceClass& one : expected.evidence) {
      if (one.differs.empty()) continue;
      const int64_t attempts = knowledge::Attempts(one.tally);
      text += fmt::format(
          "  {}: {} attempts that differ in {} count {:.2g} each, {:.2g} together; "
          "their mean {}\n",
          expected.technique, attempts, Joined(one.differs), one.counts_each,
          one.counts_each * static_cast<double>(attempts), Gain(knowledge::MeanLogGain(one.tally)));
    }
  }
  return text.empty() ? "" : "evidence from elsewhere, discounted:\n" + text;
}

// "  and 12 more" where a list was cut.
std::string More(size_t left_out) {
  return left_out == 0 ? "" : fmt::format("  and {} more\n", left_out);
}

std::string FailureLines(const Overview& overview, const std::string& state) {
  std::string text;
  size_t count = 0;
  for (const knowledge::Outcome& outcome : overview.outcomes) {
    if (outcome.state != state || !outcome.failure) continue;
    if (++count > kLinesOfAList) continue;
    text += fmt::format("  {}: {} ({})\n", outcome.technique, knowledge::Name(*outcome.failure),
                        Printable(outcome.evidence));
    for (const std::string& reason : knowledge::ReasonsOf(overview, outcome)) {
      text += "    " + Printable(reason) + "\n";
    }
  }
  return text.empty() ? "" : "failures:\n" + text + More(count - std::min(count, kLinesOfAList));
}

std::string NoteLines(const Overview& overview, const std::string& state) {
  std::string text;
  size_t count = 0;
  for (const knowledge::Note& note : overview.notes) {
    if (note.state != state) continue;
    if (++count > kLinesOfAList) continue;
    text += fmt::format("  {}by {}{}: {}\n", note.technique.empty() ? "" : note.technique + ", ",
                        Printable(note.role),
                        note.evidence.empty() ? "" : " (" + Printable(note.evidence) + ")",
                        Printable(note.text));
  }
  return text.empty() ? "" : "notes:\n" + text + More(count - std::min(count, kLinesOfAList));
}

std::string ViewpointText(const knowledge::Viewpoint& viewpoint) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<std::string>& value) {
    if (!value) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        value->empty() ? "none" : Printable(*value));
  };
  add("architecture", viewpoint.architecture);
  add("dtype", viewpoint.dtype);
  add("toolchain", viewpoint.toolchain);
  add("after", viewpoint.previous);
  return text;
}

}  // namespace

std::string KnowledgeLine(const Overview& overview, const KnowledgeTitle& title) {
  const auto discovered = std::count_if(
      overview.states.begin(), overview.states.end(),
      [](const StateView& view) { return view.state.origin == knowledge::Origin::kDiscovered; });
  std::string text = fmt::format(
      "{}: {} states ({} discovered), {} techniques, {} guesses; {} outcomes measured, {} failed, "
      "of {} tasks; {} notes\n",
      title.title, overview.states.size(), discovered, overview.techniques.size(), overview.priors,
      overview.total.measured, knowledge::Failed(overview.total), overview.tasks,
      overview.notes.size());
  const std::string viewpoint = ViewpointText(overview.viewpoint);
  return text + (viewpoint.empty()
                     ? "seen from no context in particular: all evidence counts whole\n"
                     : "seen from " + viewpoint + ": evidence from elsewhere is discounted\n");
}

std::string RenderStates(const Overview& overview, size_t most, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  for (const StateView& view : overview.states) AddRows(view, most, &rows);
  return RenderTable(Columns(), rows, colour);
}

std::string RenderState(const Overview& overview, const std::string& state, Colour colour) {
  for (const StateView& view : overview.states) {
    if (view.state.name != state) continue;
    std::vector<std::vector<Cell>> rows;
    AddRows(view, 0, &rows);
    return fmt::format("{}{}: {}\n", state,
                       view.state.origin == knowledge::Origin::kDiscovered ? " (discovered)" : "",
                       Printable(view.state.description)) +
           RenderTable(Columns(), rows, colour) + DiscountLines(view) +
           FailureLines(overview, state) + NoteLines(overview, state);
  }
  return "";
}

std::string RenderTransitions(const Overview& overview, size_t most, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  for (const knowledge::Transition& transition : overview.transitions) {
    if (rows.size() == most) break;
    if (transition.after.measured == 0) break;  // sorted: only failures from here on
    rows.push_back({{transition.previous},
                    {transition.technique},
                    {Gain(knowledge::MeanLogGain(transition.after))},
                    {std::to_string(transition.after.measured)},
                    {FailuresText(transition.after)},
                    {transition.otherwise.measured == 0
                         ? "-"
                         : Gain(knowledge::MeanLogGain(transition.otherwise))}});
  }
  if (rows.empty()) return "";
  return RenderTable({{"after"},
                      {"technique"},
                      {"mean gain", Align::kRight},
                      {"measured", Align::kRight},
                      {"failed", Align::kRight},
                      {"otherwise", Align::kRight}},
                     rows, colour);
}

}  // namespace warpsmith::report
