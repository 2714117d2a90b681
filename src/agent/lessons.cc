#include "agent/lessons.h"

#include <utility>

#include "agent/knowledge/knowledge_text.h"
#include "agent/selection.h"
#include "base/utf8.h"
#include "core/step_reference.h"

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

}  // namespace

Status Lessons::Begin() {
  if (base_ != nullptr) return {};
  auto text = TRY(memos_->Find(kStartKey));
  if (!text.has_value()) {
    knowledge::Contents contents = TRY(at_start_());
    if (memory_ == Memory::kNone) contents = Forgotten(std::move(contents));
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
  if (memory_ == Memory::kNone) return {};
  outcome.evidence = TextOf(StepReference{std::string(kThisRun), step});
  TRY(base_->Record(outcome));
  if (users_ == nullptr) return {};
  TRY(Introduce(outcome.state, outcome.technique));
  outcome.evidence = TextOf(StepReference{run_, step});
  to_pass_.outcomes.push_back(std::move(outcome));
  return {};
}

Status Lessons::Add(knowledge::Note note, int64_t step) {
  if (memory_ == Memory::kNone || note.text.empty()) return {};
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

}  // namespace warpsmith::agent
