#include "report/knowledge_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/run_report.h"

namespace warpsmith::report {
namespace {

using knowledge::Expected;
using knowledge::Overview;
using knowledge::StateView;
using nlohmann::json;

json FailuresJson(const knowledge::Tally& tally) {
  json failures = json::object();
  for (size_t i = 0; i < knowledge::kFailures; ++i) {
    if (tally.failures.at(i) == 0) continue;
    failures[std::string(knowledge::Name(static_cast<knowledge::Failure>(i)))] =
        tally.failures.at(i);
  }
  return failures;
}

json TallyJson(const knowledge::Tally& tally) {
  json value = {{"measured", tally.measured}, {"failures", FailuresJson(tally)}};
  if (tally.measured > 0) {
    value["mean_gain"] = std::exp(knowledge::MeanLogGain(tally));
    value["sd_log_gain"] = std::sqrt(knowledge::VarianceLogGain(tally));
  }
  return value;
}

json EvidenceJson(const knowledge::EvidenceClass& one) {
  json value = TallyJson(one.tally);
  value["differs"] = one.differs;
  value["counts_each"] = one.counts_each;
  value["counts"] = one.counts_each * static_cast<double>(knowledge::Attempts(one.tally));
  return value;
}

json ExpectedJson(const knowledge::Expected& expected) {
  const knowledge::Posterior& posterior = expected.posterior;
  json evidence = json::array();
  for (const knowledge::EvidenceClass& one : expected.evidence)
    evidence.push_back(EvidenceJson(one));
  return {{"technique", expected.technique},
          {"gain", std::exp(posterior.mean)},
          {"lo", std::exp(expected.log_gain.lo)},
          {"hi", std::exp(expected.log_gain.hi)},
          {"succeeds", knowledge::SuccessProbability(posterior)},
          {"here", TallyJson(posterior.here)},
          {"elsewhere", posterior.elsewhere},
          {"counts", posterior.effective},
          {"guess_weight", posterior.prior_weight},
          {"evidence", std::move(evidence)}};
}

json StateJson(const knowledge::StateView& view) {
  json expected = json::array();
  for (const knowledge::Expected& one : view.expected) expected.push_back(ExpectedJson(one));
  return {{"name", view.state.name},
          {"origin", knowledge::Name(view.state.origin)},
          {"description", view.state.description},
          {"tally", TallyJson(view.tally)},
          {"expected", std::move(expected)}};
}

json OutcomeJson(const Overview& overview, const knowledge::Outcome& outcome) {
  const knowledge::Context& context = outcome.context;
  json value = {{"evidence", outcome.evidence},
                {"state", outcome.state},
                {"technique", outcome.technique},
                {"architecture", context.architecture},
                {"dtype", context.dtype},
                {"toolchain", context.toolchain},
                {"previous", context.previous},
                {"task", outcome.task},
                {"date", outcome.date}};
  if (outcome.log_gain) value["gain"] = std::exp(*outcome.log_gain);
  if (outcome.failure) {
    value["failure"] = knowledge::Name(*outcome.failure);
    value["reasons"] = knowledge::ReasonsOf(overview, outcome);
  }
  return value;
}

// The newest first; failures before what worked, where not all can be listed.
std::vector<const knowledge::Outcome*> Listed(const Overview& overview) {
  std::vector<const knowledge::Outcome*> listed;
  for (const knowledge::Outcome& outcome : overview.outcomes) listed.push_back(&outcome);
  std::stable_sort(listed.begin(), listed.end(),
                   [](const knowledge::Outcome* a, const knowledge::Outcome* b) {
                     return std::pair(a->failure.has_value(), a->date) >
                            std::pair(b->failure.has_value(), b->date);
                   });
  listed.resize(std::min(listed.size(), kListedOutcomes));
  return listed;
}

json ViewpointJson(const knowledge::Viewpoint& viewpoint) {
  json value = json::object();
  if (viewpoint.architecture) value["architecture"] = *viewpoint.architecture;
  if (viewpoint.dtype) value["dtype"] = *viewpoint.dtype;
  if (viewpoint.toolchain) value["toolchain"] = *viewpoint.toolchain;
  if (viewpoint.previous) value["previous"] = *viewpoint.previous;
  return value;
}

json TransitionJson(const knowledge::Transition& transition) {
  return {{"previous", transition.previous},
          {"technique", transition.technique},
          {"after", TallyJson(transition.after)},
          {"otherwise", TallyJson(transition.otherwise)}};
}

json NamesJson(const knowledge::NameChanges& changes) {
  return {{"removed", changes.removed}, {"added", changes.added}, {"changed", changes.changed}};
}

json SumsJson(const knowledge::Tally& tally) {
  return {{"measured", tally.measured},
          {"failed", knowledge::Failed(tally)},
          {"mean_log_gain", knowledge::MeanLogGain(tally)}};
}

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

json ToJson(const Overview& overview, const KnowledgeTitle& title) {
  json states = json::array(), techniques = json::array(), transitions = json::array(),
       notes = json::array(), outcomes = json::array();
  for (const knowledge::StateView& view : overview.states) states.push_back(StateJson(view));
  for (const knowledge::Technique& technique : overview.techniques) {
    techniques.push_back({{"name", technique.name},
                          {"description", technique.description},
                          {"source", technique.source}});
  }
  for (const knowledge::Transition& transition : overview.transitions) {
    transitions.push_back(TransitionJson(transition));
  }
  for (const knowledge::Note& note : overview.notes) {
    notes.push_back({{"state", note.state},
                     {"technique", note.technique},
                     {"text", note.text},
                     {"role", note.role},
                     {"evidence", note.evidence}});
  }
  for (const knowledge::Outcome* outcome : Listed(overview))
    outcomes.push_back(OutcomeJson(overview, *outcome));
  return {{"schema", "warpsmith.knowledge"},
          {"version", kKnowledgeReportVersion},
          {"title", title.title},
          {"program", title.program},
          {"viewpoint", ViewpointJson(overview.viewpoint)},
          {"total", TallyJson(overview.total)},
          {"tasks", overview.tasks},
          {"guesses", overview.priors},
          {"states", std::move(states)},
          {"techniques", std::move(techniques)},
          {"transitions", std::move(transitions)},
          {"notes", std::move(notes)},
          {"outcomes", std::move(outcomes)},
          {"outcomes_in_all", overview.outcomes.size()}};
}

json ToJson(const knowledge::Difference& difference) {
  json cells = json::array();
  for (const knowledge::CellChange& change : difference.cells) {
    const auto& [state, technique, context] = change.key;
    cells.push_back({{"state", state},
                     {"technique", technique},
                     {"architecture", context.architecture},
                     {"dtype", context.dtype},
                     {"toolchain", context.toolchain},
                     {"previous", context.previous},
                     {"before", SumsJson(change.before)},
                     {"after", SumsJson(change.after)}});
  }
  return {{"schema", "warpsmith.knowledge-diff"},
          {"version", 1},
          {"same", knowledge::Empty(difference)},
          {"states", NamesJson(difference.states)},
          {"techniques", NamesJson(difference.techniques)},
          {"priors", NamesJson(difference.priors)},
          {"statistics", cells},
          {"outcomes_removed", difference.outcomes_removed},
          {"outcomes_added", difference.outcomes_added},
          {"outcomes_shared", difference.outcomes_shared},
          {"notes_removed", difference.notes_removed},
          {"notes_added", difference.notes_added}};
}

std::string ToHtml(const Overview& overview, const KnowledgeTitle& title) {
  return FillPage("Knowledge base: " + title.title, "knowledge.js", ToJson(overview, title));
}

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
