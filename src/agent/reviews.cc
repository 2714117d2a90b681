#include "agent/reviews.h"

#include <algorithm>

#include "agent/knowledge/render.h"
#include "agent/prompts/model_answer.h"

namespace warpsmith::agent {
namespace {

constexpr size_t kNotesBytes = 3'000;

std::string Sentences(const prompts::GapAnalysis& gap, const prompts::Note& note) {
  std::string text = note.note;
  if (!note.when.empty()) text += " When: " + note.when;
  if (!note.replaces.empty()) text += " Corrects the note that begins: " + note.replaces;
  if (gap.verdict != "as-expected") text += " (" + gap.verdict + ": " + gap.cause + ")";
  return text;
}

}  // namespace

void Reviews::Measured(int before, int after, const Option& option) {
  if (settings_.asks_reviews) waiting_.push_back({{}, before, after, option});
}

void Reviews::Doubt(int node) {
  Node& one = forest_.node(node);
  if (!settings_.asks_doubts || one.doubts_asked) return;
  one.doubts_asked = true;
  waiting_.push_back({{}, -1, node, {}});
}

Result<std::string> Reviews::NotesOn(const Node& node, const Option& option) {
  if (settings_.memory == Memory::kNone) return std::string("nothing");
  KernelState kernel;
  kernel.state = option.state;
  const knowledge::Page page =
      TRY(knowledge::PageFor(lessons_.base(), SituationOf(forest_.problem(), node, kernel)));
  return knowledge::Render(page, kNotesBytes);
}

Result<std::vector<Reviews::Question>> Reviews::Take() {
  std::vector<Question> questions;
  for (; !waiting_.empty(); waiting_.pop_front()) {
    Question question = std::move(waiting_.front());
    const Node& after = forest_.node(question.after);
    if (question.before < 0) {
      question.request = writer_.Doubts(after);
    } else {
      const Node& before = forest_.node(question.before);
      question.request =
          writer_.Review({&before, &after, question.option.state, question.option.technique,
                          ExpectationText(question.option), MeasurementText(before, after),
                          TRY(NotesOn(before, question.option))});
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

Status Reviews::Digest(const Question& question, const Answer& answer) {
  if (!answer.problem.empty() || answer.reply.samples.empty()) return {};
  const std::string& text = answer.reply.samples.front().text;
  if (question.before >= 0) return DigestReview(question, text);
  return DigestDoubts(question, text);
}

Status Reviews::DigestReview(const Question& question, const std::string& text) {
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

Status Reviews::DigestDoubts(const Question& question, const std::string& text) {
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
  return memos_->Keep(store::OverruledKey(node.id), node.doubts.back());
}

}  // namespace warpsmith::agent
