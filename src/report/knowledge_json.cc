#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "report/knowledge_report.h"
#include "report/page_template.h"

namespace warpsmith::report {
namespace {

using knowledge::Overview;
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

}  // namespace warpsmith::report
