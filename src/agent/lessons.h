// What a step teaches, written into the run's own base and into the user's.
#ifndef WARPSMITH_AGENT_LESSONS_H_
#define WARPSMITH_AGENT_LESSONS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/knowledge/knowledge_base.h"
#include "agent/settings.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

// The run's base is in memory: what the user's held when the run began, and what the run has
// learned since. So a run that goes on draws from what it drew from, whatever others have written
// meanwhile. The user's base gets the same lessons, those of a step in one transaction, each once
// however often it is told.
class Lessons {
 public:
  // `at_start` is asked once in a run's life. `users` may be null: nothing is written then.
  Lessons(Memory memory, std::string run, std::function<Result<knowledge::Contents>()> at_start,
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

  const Memory memory_;
  const std::string run_;
  const std::function<Result<knowledge::Contents>()> at_start_;
  knowledge::KnowledgeBase* users_;
  store::RunMemos* memos_;
  std::unique_ptr<knowledge::KnowledgeBase> base_;
  knowledge::Contents to_pass_;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_LESSONS_H_
