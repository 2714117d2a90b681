#include "agent/learner.h"

#include <nlohmann/json.hpp>

#include "agent/knowledge/quoted.h"
#include "agent/node.h"
#include "agent/reading.h"
#include "base/utf8.h"

namespace warpsmith::agent {
namespace {

using nlohmann::json;

constexpr size_t kNoteBytes = 240;
constexpr double kWorthDoubt = 0.05;  // log gain over the first kernel

std::string LogOf(const Outcome& outcome) {
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return failed->reason + "\n" + failed->log;
  }
  return Describe(outcome);
}

// A reply that held no candidate.
const Rejected* BadReplyIn(const Outcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  const bool is_reply =
      rejected != nullptr && (rejected->rule == kReplyRule || rejected->rule == kDeclinedRule);
  return is_reply ? rejected : nullptr;
}

// What is asked next: the same with a complaint, or the repair of what failed.
void TakeFailure(const Step& step, const Rejected* bad_reply, Attempt& attempt) {
  ++attempt.failures;
  if (bad_reply != nullptr) {
    attempt.complaint = bad_reply->detail;
    return;
  }
  const Outcome& outcome = step.verdict.outcome;
  attempt.complaint.clear();
  attempt.failed = step.candidate;
  attempt.failure = OutcomeName(outcome);
  attempt.failure_kind = knowledge::FailureOf(outcome);
  attempt.log = LogOf(outcome);
  attempt.request.reset();
}

}  // namespace

Result<bool> Learner::Learn(const Step& step, Attempt& attempt) {
  std::optional<Node> node = NodeOf(step, mode_, settings_.reward);
  if (!node.has_value()) return LearnFailed(step, attempt);
  TRY(LearnPassed(step, std::move(*node), attempt));
  return true;
}

Status Learner::LearnPassed(const Step& step, Node node, const Attempt& attempt) {
  node.parent = attempt.node;
  node.technique = IsFirst(attempt) ? "" : attempt.option.technique;
  const int index = forest_.Add(std::move(node), attempt.rollout);
  if (IsFirst(attempt)) {
    if (attempt.kind != Kind::kGiven) reviews_.Doubt(index);
    Remember(step, attempt, std::nullopt);
    return {};
  }
  const double gain = LogGain(forest_.node(attempt.node), forest_.node(index));
  TRY(RecordGain(step, attempt, gain));
  forest_.Note(attempt, knowledge::GainText(gain));
  reviews_.Measured(attempt.node, index, attempt.option);
  const double worth = forest_.node(index).worth;
  const bool is_better =
      worth > forest_.node(attempt.node).worth && worth - forest_.node(0).worth > kWorthDoubt;
  if (is_better) reviews_.Doubt(index);
  Remember(step, attempt, gain);
  return {};
}

bool Learner::MayBeRepaired(const Attempt& attempt, const Outcome& outcome) const {
  const bool says_nothing =
      std::holds_alternative<Inconclusive>(outcome) || std::holds_alternative<Passed>(outcome);
  const int repairs = IsFirst(attempt) ? settings_.bootstrap_repairs : settings_.repairs;
  return !says_nothing && attempt.failures <= repairs;
}

Result<bool> Learner::LearnFailed(const Step& step, Attempt& attempt) {
  const Outcome& outcome = step.verdict.outcome;
  const Rejected* bad_reply = BadReplyIn(outcome);
  const bool declined = bad_reply != nullptr && bad_reply->rule == kDeclinedRule;
  TakeFailure(step, bad_reply, attempt);
  Remember(step, attempt, std::nullopt);
  if (!declined && MayBeRepaired(attempt, outcome)) return false;
  forest_.Note(attempt, std::string(OutcomeName(outcome)) + (declined ? " (declined)" : ""));
  // Prose says something about the model, not about the technique; a repair that came to nothing
  // leaves the failure that it was to mend.
  std::optional<knowledge::Failure> failure = attempt.failure_kind;
  if (declined) failure = knowledge::Failure::kNoGain;
  if (failure.has_value()) TRY(RecordFailure(step, attempt, *failure));
  return true;
}

// Without what came of it; nullopt where nothing is to be learned.
std::optional<knowledge::Outcome> Learner::OutcomeOf(const Step& step,
                                                     const Attempt& attempt) const {
  if (IsFirst(attempt) || settings_.style != Style::kMaic) return std::nullopt;
  const Node& before = forest_.node(attempt.node);
  knowledge::Outcome outcome;
  outcome.state = attempt.option.state;
  outcome.technique = attempt.option.technique;
  outcome.context = forest_.problem().context;
  outcome.context.previous = before.technique;
  if (!before.toolchain.empty()) outcome.context.toolchain = before.toolchain;
  outcome.task = forest_.problem().task;
  outcome.date = step.verdict.evidence.date;
  return outcome;
}

Status Learner::RecordGain(const Step& step, const Attempt& attempt, double whole_log_gain) {
  auto outcome = OutcomeOf(step, attempt);
  if (!outcome.has_value()) return {};
  outcome->log_gain = knowledge::Rounded(PartLogGain(whole_log_gain, attempt.option.share));
  return Record(std::move(*outcome), attempt, step.index);
}

Status Learner::RecordFailure(const Step& step, const Attempt& attempt,
                              knowledge::Failure failure) {
  auto outcome = OutcomeOf(step, attempt);
  if (!outcome.has_value()) return {};
  outcome->failure = failure;
  TRY(Record(std::move(*outcome), attempt, step.index));
  knowledge::Note note;
  note.state = attempt.option.state;
  note.technique = attempt.option.technique;
  // In one line: a whole log quotes the user's code, and a base may be passed on.
  note.text = ValidUtf8(Describe(step.verdict.outcome).substr(0, kNoteBytes));
  note.role = "failure";
  return lessons_.Add(std::move(note), step.index);
}

// Under the name that the model gave its own idea, and as an own idea, too.
Status Learner::Record(knowledge::Outcome outcome, const Attempt& attempt, int64_t step) {
  if (outcome.technique != kOwnIdea) {
    // A name that the model gave may be new; one that is known keeps its description.
    TRY(lessons_.Add(knowledge::Technique{outcome.technique, attempt.description,
                                          std::string(knowledge::kModelSource)}));
    TRY(lessons_.Record(outcome, step));
  }
  if (attempt.kind != Kind::kOwnIdea) return {};
  outcome.technique = kOwnIdea;
  return lessons_.Record(std::move(outcome), step);
}

// What a report wants to know of a step beside its verdict.
void Learner::Remember(const Step& step, const Attempt& attempt, std::optional<double> log_gain) {
  json text{{"kind", agent::Name(attempt.kind)},
            {"rollout", attempt.rollout},
            {"failures", attempt.failures}};
  if (!IsFirst(attempt)) {
    const Node& before = forest_.node(attempt.node);
    text["state"] = attempt.option.state;
    text["technique"] = attempt.option.technique;
    text["target"] = attempt.option.target;
    text["share"] = attempt.option.share;
    text["expected_log_gain"] = attempt.option.expected_gain;
    text["previous"] = before.technique;
    text["from_step"] = before.step;
  }
  if (log_gain.has_value()) text["log_gain"] = *log_gain;
  memos_[store::StepKey(step.index)] = text.dump();
}

}  // namespace warpsmith::agent
