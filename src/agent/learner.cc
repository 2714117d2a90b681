#include "agent/learner.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "agent/forest.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/render.h"
#include "agent/prompt_writer.h"
#include "agent/prompts/model_answer.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "core/step.h"

namespace warpsmith::agent {
namespace {

using knowledge::KnowledgeBase;

constexpr const char* kStartKey = "knowledge";
// Evidence shows in prompts, and a replay has another name.
constexpr std::string_view kThisRun = "this";

// The catalogue alone: nothing of what was ever measured or guessed.
knowledge::Contents Forgotten(knowledge::Contents contents) {
  contents.priors.clear();
  contents.outcomes.clear();
  contents.notes.clear();
  return contents;
}

std::string Cut(std::string text, size_t most_bytes) {
  if (text.size() > most_bytes) text.resize(most_bytes);
  return ValidUtf8(text).substr(0, most_bytes);
}

constexpr size_t kNotesBytes = 3'000;

std::string Sentences(const prompts::GapAnalysis& gap, const prompts::Note& note) {
  std::string text = note.note;
  if (!note.when.empty()) text += " When: " + note.when;
  if (!note.replaces.empty()) text += " Corrects the note that begins: " + note.replaces;
  if (gap.verdict != "as-expected") text += " (" + gap.verdict + ": " + gap.cause + ")";
  return text;
}

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

Status Lessons::Begin() {
  if (base_ != nullptr) return {};
  auto text = TRY(memos_->Find(kStartKey));
  if (!text.has_value()) {
    knowledge::Contents contents = TRY(at_start_());
    if (memory_ == MemoryUse::kNone) contents = Forgotten(std::move(contents));
    text = knowledge::ToText(contents);
    TRY(memos_->Keep(kStartKey, *text));
  }
  const knowledge::Contents contents =
      TRY(knowledge::ContentsFromText("the knowledge base at the run's start", *text));
  auto base = TRY(KnowledgeBase::Open(":memory:", store::Durability::kProcessDeath,
                                      store::WhenMissing::kCreate));
  TRY(base->Take(contents));
  TRY(base->Add(OwnIdea()));
  base_ = std::move(base);
  return {};
}

// The user's base may lack the names that a lesson is about.
Status Lessons::Introduce(const std::string& state, const std::string& technique) {
  if (const auto known = TRY(base_->FindState(state))) to_pass_.states.push_back(*known);
  for (knowledge::Technique& one : TRY(base_->Techniques())) {
    if (one.name == technique) to_pass_.techniques.push_back(std::move(one));
  }
  return {};
}

Status Lessons::Record(knowledge::Outcome outcome, int64_t step) {
  if (memory_ == MemoryUse::kNone) return {};
  outcome.evidence = TextOf(StepReference{std::string(kThisRun), step});
  TRY(base_->Record(outcome));
  if (users_ == nullptr) return {};
  TRY(Introduce(outcome.state, outcome.technique));
  outcome.evidence = TextOf(StepReference{run_, step});
  to_pass_.outcomes.push_back(std::move(outcome));
  return {};
}

Status Lessons::Add(knowledge::Note note, int64_t step) {
  if (memory_ == MemoryUse::kNone || note.text.empty()) return {};
  note.text = Cut(std::move(note.text), knowledge::kMaxNoteBytes);
  note.evidence = TextOf(StepReference{std::string(kThisRun), step});
  TRY(base_->Add(note));
  if (users_ == nullptr) return {};
  TRY(Introduce(note.state, note.technique));
  note.evidence = TextOf(StepReference{run_, step});
  to_pass_.notes.push_back(std::move(note));
  return {};
}

Status Lessons::Pass() {
  if (users_ == nullptr || to_pass_.states.empty()) return {};
  TRY(users_->Take(std::exchange(to_pass_, {})));
  return {};
}

Status Lessons::Add(const knowledge::Technique& technique) { return base_->Add(technique); }

void Learner::Doubt(int node) {
  Node& one = forest_.node(node);
  if (!settings_.asks_doubts || one.doubts_asked) return;
  one.doubts_asked = true;
  questions_.push_back({{}, -1, node, {}});
}

Result<std::string> Learner::NotesOn(const Node& node, const TechniqueOption& option) {
  if (settings_.memory == MemoryUse::kNone) return std::string("nothing");
  KernelState kernel;
  kernel.state = option.state;
  const knowledge::Page page =
      TRY(knowledge::PageFor(lessons_.base(), SituationOf(forest_.problem(), node, kernel)));
  return knowledge::Render(page, kNotesBytes);
}

Result<std::vector<Learner::Question>> Learner::TakeQuestions() {
  std::vector<Question> questions;
  for (; !questions_.empty(); questions_.pop_front()) {
    Question question = std::move(questions_.front());
    const Node& after = forest_.node(question.after);
    if (question.before < 0) {
      question.request = writer_.Doubts(after);
    } else {
      const Node& before = forest_.node(question.before);
      question.request =
          writer_.Review(before, after, question.option, TRY(NotesOn(before, question.option)));
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

Status Learner::Digest(const Question& question, const Answer& answer) {
  if (!answer.problem.empty() || answer.reply.samples.empty()) return {};
  const std::string& text = answer.reply.samples.front().text;
  if (question.before >= 0) return DigestReview(question, text);
  return DigestDoubts(question, text);
}

Status Learner::DigestReview(const Question& question, const std::string& text) {
  const Result<prompts::GapAnalysis> gap = prompts::ReadGapAnalysis(text);
  const Result<prompts::Note> note = prompts::ReadNote(text);
  if (!gap.ok() || !note.ok()) return {};
  knowledge::Note lesson;
  lesson.state = question.option.state;
  lesson.technique = question.option.technique;
  lesson.text = Sentences(*gap, *note);
  lesson.role = "review";
  return lessons_.Add(std::move(lesson), forest_.node(question.after).step);
}

Status Learner::DigestDoubts(const Question& question, const std::string& text) {
  Result<std::vector<prompts::Doubt>> doubts = prompts::ReadDoubts(text);
  if (!doubts.ok()) return {};
  Node& node = forest_.node(question.after);
  // The gravest last: it is what a veto is told with.
  std::stable_partition(doubts->begin(), doubts->end(),
                        [](const prompts::Doubt& doubt) { return doubt.severity != "high"; });
  for (const prompts::Doubt& doubt : *doubts) {
    node.doubts.push_back(doubt.severity + ": " + doubt.reason +
                          (doubt.where.empty() ? "" : " [" + doubt.where + "]"));
    if (doubt.severity == "high") node.vetoed = true;
  }
  if (!node.vetoed) return {};
  return store_->Keep(store::OverruledKey(node.id), node.doubts.back());
}

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
    if (attempt.kind != AttemptKind::kGiven) Doubt(index);
    Remember(step, attempt, std::nullopt);
    return {};
  }
  const double gain = LogGain(forest_.node(attempt.node), forest_.node(index));
  TRY(RecordGain(step, attempt, gain));
  forest_.Note(attempt, knowledge::GainText(gain));
  if (settings_.asks_reviews) questions_.push_back({{}, attempt.node, index, attempt.option});
  const double worth = forest_.node(index).worth;
  const bool is_better =
      worth > forest_.node(attempt.node).worth && worth - forest_.node(0).worth > kWorthDoubt;
  if (is_better) Doubt(index);
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
  if (attempt.kind != AttemptKind::kOwnIdea) return {};
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
  memos_[store::StepKey(step.index)] = JsonText(text);
}

}  // namespace warpsmith::agent
