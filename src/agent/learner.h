// What becomes of attempts that were judged: kernels for the forest, outcomes and notes for the
// base, questions for a review, and a memo of each step for reports.
#ifndef WARPSMITH_AGENT_LEARNER_H_
#define WARPSMITH_AGENT_LEARNER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/forest.h"
#include "agent/knowledge/knowledge_base.h"
#include "agent/model_client.h"
#include "agent/prompt_writer.h"
#include "agent/settings.h"
#include "core/chat_model.h"
#include "core/step.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

// What a step teaches, written into the run's own base and into the user's. The run's base is in
// memory: what the user's held when the run began, and what the run has learned since. So a run
// that goes on draws from what it drew from, whatever others have written meanwhile. The user's
// base gets the same lessons, those of a step in one transaction, each once however often it is
// given.
class Lessons {
 public:
  // `at_start` is asked once in a run's life. `users` may be null: nothing is written then.
  Lessons(MemoryUse memory, std::string run, std::function<Result<knowledge::Contents>()> at_start,
          knowledge::KnowledgeBase* users, store::RunMemos* memos)
      : memory_(memory),
        run_(std::move(run)),
        at_start_(std::move(at_start)),
        users_(users),
        memos_(memos) {}

  // To be called first.
  Status Begin();

  knowledge::KnowledgeBase& base() { return *base_; }

  // Outcomes and notes about a step; evidence is filled in. States and techniques that the user's
  // base lacks are taken over first.
  Status Record(knowledge::Outcome outcome, int64_t step);
  Status Add(knowledge::Note note, int64_t step);
  Status Add(const knowledge::Technique& technique);
  // The user's base learns what was recorded since the last call.
  Status Pass();

 private:
  Status Introduce(const std::string& state, const std::string& technique);

  const MemoryUse memory_;
  const std::string run_;
  const std::function<Result<knowledge::Contents>()> at_start_;
  knowledge::KnowledgeBase* users_;
  store::RunMemos* memos_;
  std::unique_ptr<knowledge::KnowledgeBase> base_;
  knowledge::Contents to_pass_;
};

class Learner {
 public:
  // `mode`: whose times count.
  Learner(const Settings& settings, Mode mode, const PromptWriter& writer, Forest& forest,
          Lessons& lessons, store::RunMemos* store)
      : settings_(settings),
        mode_(mode),
        writer_(writer),
        forest_(forest),
        lessons_(lessons),
        store_(store) {}

  // The step that the attempt's last reply led to. True: the attempt has ended. False: it says by
  // now what is to be repaired, or what was wrong with the reply.
  Result<bool> Learn(const Step& step, Attempt& attempt);

  // The memos of the steps since the last call, to be kept (docs/agent.md).
  store::Memos TakeMemos() { return std::exchange(memos_, {}); }

  // --- Questions about steps that have ended: why a change gained what it did, with a note for the
  // base, and reasons to doubt a kernel. They are asked beside the next code, so nobody waits for
  // them.

  struct Question {
    ChatRequest request;
    int before = -1, after = -1;  // nodes, of a review; a doubt has only `after`
    TechniqueOption option;
  };
  // A rollout stands on the node, or it may win: is it honest? Asked once a node.
  void Doubt(int node);
  // What has not been asked yet, each once.
  Result<std::vector<Question>> TakeQuestions();
  // An answer that cannot be read changes nothing.
  Status Digest(const Question& question, const Answer& answer);

 private:
  Status LearnPassed(const Step& step, Node node, const Attempt& attempt);
  Result<bool> LearnFailed(const Step& step, Attempt& attempt);
  bool MayBeRepaired(const Attempt& attempt, const Outcome& outcome) const;
  std::optional<knowledge::Outcome> OutcomeOf(const Step& step, const Attempt& attempt) const;
  Status RecordGain(const Step& step, const Attempt& attempt, double whole_log_gain);
  Status RecordFailure(const Step& step, const Attempt& attempt, knowledge::Failure failure);
  Status Record(knowledge::Outcome outcome, const Attempt& attempt, int64_t step);
  void Remember(const Step& step, const Attempt& attempt, std::optional<double> log_gain);
  Result<std::string> NotesOn(const Node& node, const TechniqueOption& option);
  Status DigestReview(const Question& question, const std::string& text);
  Status DigestDoubts(const Question& question, const std::string& text);

  const Settings& settings_;
  const Mode mode_;
  const PromptWriter& writer_;
  Forest& forest_;
  Lessons& lessons_;
  store::RunMemos* store_;
  store::Memos memos_;              // of steps; TakeMemos gives them
  std::deque<Question> questions_;  // not asked yet
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_LEARNER_H_
