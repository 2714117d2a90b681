// What becomes of attempts that were judged: kernels for the forest, outcomes and notes for the
// base, questions for a review, and a memo of each step for reports.
#ifndef WARPSMITH_AGENT_LEARNER_H_
#define WARPSMITH_AGENT_LEARNER_H_

#include <optional>
#include <utility>

#include "agent/attempt.h"
#include "agent/forest.h"
#include "agent/lessons.h"
#include "agent/reviews.h"
#include "agent/settings.h"
#include "core/step.h"
#include "store/run_memos.h"

namespace warpsmith::agent {

class Learner {
 public:
  // `mode`: whose times count.
  Learner(const Settings& settings, Mode mode, Forest& forest, Lessons& lessons, Reviews& reviews)
      : settings_(settings), mode_(mode), forest_(forest), lessons_(lessons), reviews_(reviews) {}

  // The step that the attempt's last reply led to. True: the attempt has ended. False: it says by
  // now what is to be repaired, or what was wrong with the reply.
  Result<bool> Learn(const Step& step, Attempt& attempt);

  // The memos of the steps since the last call, to be kept (docs/agent.md).
  store::Memos TakeMemos() { return std::exchange(memos_, {}); }

 private:
  Status LearnPassed(const Step& step, Node node, const Attempt& attempt);
  Result<bool> LearnFailed(const Step& step, Attempt& attempt);
  bool MayBeRepaired(const Attempt& attempt, const Outcome& outcome) const;
  std::optional<knowledge::Outcome> OutcomeOf(const Step& step, const Attempt& attempt) const;
  Status RecordGain(const Step& step, const Attempt& attempt, double whole_log_gain);
  Status RecordFailure(const Step& step, const Attempt& attempt, knowledge::Failure failure);
  Status Record(knowledge::Outcome outcome, const Attempt& attempt, int64_t step);
  void Remember(const Step& step, const Attempt& attempt, std::optional<double> log_gain);

  const Settings& settings_;
  const Mode mode_;
  Forest& forest_;
  Lessons& lessons_;
  Reviews& reviews_;
  store::Memos memos_;
};

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_LEARNER_H_
