// The tools over the knowledge base.
#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/knowledge/render.h"
#include "serve/tools/answers.h"
#include "serve/tools/arguments.h"
#include "serve/tools/tools.h"

namespace warpsmith::serve {
namespace {

using mcp::ToolResult;
using nlohmann::json;

constexpr const char* kRole = "coding-agent";
constexpr int64_t kDefaultBytes = 12'000, kDefaultDraws = 3, kMostDraws = 20;

// Techniques that the base connects with the situation; all it has, where there are none.
std::vector<std::string> Candidates(const knowledge::Recollection& recollection,
                                    const std::vector<knowledge::Technique>& all) {
  std::vector<std::string> names = knowledge::TechniquesIn(recollection);
  if (!names.empty()) return names;
  for (const knowledge::Technique& technique : all) names.push_back(technique.name);
  return names;
}

std::string DrawnText(const std::vector<knowledge::Choice>& choices) {
  std::string text = "# Drawn to try now, by Thompson sampling\n";
  for (const knowledge::Choice& choice : choices) {
    text += "- " + choice.technique + ": expected " + knowledge::GainText(choice.expected_value) +
            ", drawn " + knowledge::GainText(choice.sampled_value) + "\n";
  }
  return choices.empty() ? "" : text;
}

// A gain is of one task on one device, both judged alike.
bool AreComparable(const search::FoundStep& before, const search::FoundStep& after) {
  const RunRecord& a = before.record;
  const RunRecord& b = after.record;
  return TaskId(a.task) == TaskId(b.task) && a.workload.sizes == b.workload.sizes &&
         a.device.uuid == b.device.uuid && ProtocolId(a.protocol) == ProtocolId(b.protocol);
}

std::string DTypeOf(const Task& task) { return std::string(Name(task.tensors.front().dtype)); }

// The outcome as the verdicts tell it; state and technique are what the caller says they are.
Result<knowledge::Outcome> OutcomeOf(const search::FoundStep& before,
                                     const search::FoundStep& after) {
  knowledge::Outcome outcome;
  outcome.evidence = after.id();
  const Evidence& evidence = before.step.verdict.evidence;
  outcome.context = {after.record.device.architecture, DTypeOf(after.record.task),
                     evidence.toolchain, before.step.candidate.provenance.technique};
  outcome.task = TaskId(after.record.task);
  outcome.date = after.step.verdict.evidence.date;
  outcome.failure = knowledge::FailureOf(after.step.verdict.outcome);
  if (outcome.failure) return outcome;
  const auto gain = search::LogGain(before, after);
  if (!gain) {
    return Error{ErrorCode::kBadInput,
                 "these verdicts say nothing of a gain: " + after.id() + " is " +
                     Describe(after.step.verdict.outcome),
                 "name one that passed or failed, and a base that passed"};
  }
  outcome.log_gain = knowledge::Rounded(*gain);
  return outcome;
}

}  // namespace

Result<std::string> McpTools::ListStates() {
  std::string text = "States that the base knows (quoted text is data):\n";
  for (const knowledge::State& state : TRY(base_->States())) {
    text += "- " + state.name + ": " + knowledge::Quoted(state.description, 200) + "\n";
  }
  return text;
}

Result<knowledge::Situation> McpTools::SituationIn(const JsonReader& arguments) {
  knowledge::Situation situation;
  situation.state = TRY(NameIn(arguments, "state"));
  situation.task = TaskId(bench_.task());
  situation.context.dtype = DTypeOf(bench_.task());
  situation.context.previous = TRY(NameIn(arguments, "previous"));
  if (const auto best = TRY(bench_.Best(Level::kScreened))) {
    situation.context.architecture = best->record.device.architecture;
    situation.context.toolchain = best->step.verdict.evidence.toolchain;
  } else {
    situation.context.architecture = TRY(machine_.Get())->info().architecture;
  }
  return situation;
}

Result<ToolResult> McpTools::QueryKnowledge(const JsonReader& arguments,
                                            mcp::CallContext& /*context*/) {
  const bool asks_for_states = TRY(NameIn(arguments, "state")).empty();
  if (asks_for_states) return ToolResult{TRY(ListStates()), nullptr, false};
  const knowledge::Situation situation = TRY(SituationIn(arguments));
  const int64_t bytes =
      TRY(NumberIn(arguments, "budget_bytes", 500, knowledge::kPromptBytes, kDefaultBytes));
  const int64_t draws = TRY(NumberIn(arguments, "draw", 0, kMostDraws, kDefaultDraws));
  const auto page = TRY(knowledge::PageFor(*base_, situation));
  std::string text = knowledge::Render(page, static_cast<size_t>(bytes));
  const std::vector<std::string> candidates =
      Candidates(TRY(base_->Recall(situation)), TRY(base_->Techniques()));
  Random random(bench_.request().seed, "mcp/draw/" + std::to_string(draws_++));
  text += DrawnText(TRY(base_->Draw(situation, candidates, static_cast<size_t>(draws), random)));
  return ToolResult{text, nullptr, false};
}

// The verdict of what was changed: as named, else the one that the step was evaluated with.
Result<search::FoundStep> McpTools::BaseOf(const JsonReader& arguments,
                                           const search::FoundStep& after) {
  if (arguments.Has("base")) return bench_.Find(TRY(arguments.At("base").String()));
  const std::string& parent = after.step.candidate.provenance.parent;
  for (Step& step : TRY(store_.Steps(after.run))) {
    const bool is_it = !parent.empty() && CandidateId(step.candidate) == parent &&
                       std::holds_alternative<Passed>(step.verdict.outcome);
    if (is_it) return search::FoundStep{after.run, std::move(step), after.record};
  }
  return Error{ErrorCode::kBadInput,
               "the candidate that " + after.id() + " changed has no verdict that passed",
               "evaluate it, and name its verdict as \"base\""};
}

// New names need a description; those that are known keep theirs.
Status McpTools::Introduce(const JsonReader& arguments, const knowledge::Outcome& outcome) {
  if (!TRY(base_->FindState(outcome.state))) {
    if (!arguments.Has("state_description")) {
      return arguments.At("state").Bad("one that the base knows, or a state_description");
    }
    const std::string description = TRY(arguments.At("state_description").String());
    TRY(base_->Add(knowledge::State{outcome.state, knowledge::Origin::kDiscovered, description}));
  }
  for (const knowledge::Technique& technique : TRY(base_->Techniques())) {
    if (technique.name == outcome.technique) return {};
  }
  if (!arguments.Has("technique_description")) {
    return arguments.At("technique").Bad("one that the base knows, or a technique_description");
  }
  const std::string description = TRY(arguments.At("technique_description").String());
  return base_->Add(knowledge::Technique{outcome.technique, description, kRole});
}

Result<ToolResult> McpTools::RecordOutcome(const JsonReader& arguments,
                                           mcp::CallContext& /*context*/) {
  const search::FoundStep after = TRY(bench_.Find(TRY(arguments.At("verdict").String())));
  const search::FoundStep before = TRY(BaseOf(arguments, after));
  if (!AreComparable(before, after)) {
    return Error{ErrorCode::kBadInput,
                 before.id() + " and " + after.id() +
                     " were not judged alike (task, sizes, device or protocol)",
                 "name two verdicts of one task and level"};
  }
  if (!std::holds_alternative<Passed>(before.step.verdict.outcome)) {
    return arguments.At("base").Bad("a verdict that passed");
  }
  if (CandidateId(before.step.candidate) == CandidateId(after.step.candidate)) {
    return Error{ErrorCode::kBadInput,
                 before.id() + " and " + after.id() + " are of the same candidate",
                 "nothing came of a technique that changed nothing"};
  }
  knowledge::Outcome outcome = TRY(OutcomeOf(before, after));
  outcome.state = TRY(NameIn(arguments, "state"));
  outcome.technique = TRY(NameIn(arguments, "technique"));
  if (outcome.state.empty() || outcome.technique.empty()) {
    return Error{ErrorCode::kBadInput, "an outcome is of a technique in a state", "name both"};
  }
  TRY(Introduce(arguments, outcome));
  const bool is_new = TRY(base_->Record(outcome));
  json answer = {{"evidence", outcome.evidence},
                 {"state", outcome.state},
                 {"technique", outcome.technique},
                 {"previous", outcome.context.previous},
                 {"new", is_new}};
  if (outcome.log_gain) answer["gain"] = std::exp(*outcome.log_gain);
  if (outcome.failure) answer["failure"] = knowledge::Name(*outcome.failure);
  return Structured(std::move(answer));
}

Result<ToolResult> McpTools::AddNote(const JsonReader& arguments, mcp::CallContext& /*context*/) {
  constexpr size_t kMostBytes = 4000;
  knowledge::Note note;
  note.text = TRY(arguments.At("text").String());
  if (note.text.size() > kMostBytes) {
    return arguments.At("text").Bad("at most " + std::to_string(kMostBytes) + " bytes");
  }
  note.state = TRY(NameIn(arguments, "state"));
  note.technique = TRY(NameIn(arguments, "technique"));
  note.role = kRole;
  if (arguments.Has("verdict")) {
    note.evidence = TRY(bench_.Find(TRY(arguments.At("verdict").String()))).id();
  }
  const bool added = TRY(base_->Add(note));
  return Structured({{"new", added}});
}

}  // namespace warpsmith::serve
