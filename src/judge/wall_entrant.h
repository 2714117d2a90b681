// An entrant that is timed in bursts on the wall clock: what programs' and PyTorch's turns share.
#ifndef WARPSMITH_JUDGE_WALL_ENTRANT_H_
#define WARPSMITH_JUDGE_WALL_ENTRANT_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/burst_run.h"
#include "judge/contest.h"
#include "judge/program_contest.h"

namespace warpsmith::judge {

// What all entrants of a contest on the wall clock meet in.
struct WallBout {
  Contest& contest;
  const ProgramContext& context;
  // PyTorch takes part: its turns tell what the oracle's own work in a burst takes.
  bool has_torch = false;

  BurstBench Bench() const {
    return {&contest.device(), &contest.arena(), &contest.job().task, &contest.random(),
            std::chrono::milliseconds(contest.job().protocol.step_timeout_ms)};
  }
};

class WallEntrant : public Entrant {
 public:
  // Without the hand-over, and without the oracle's work where PyTorch's turns of this contest tell
  // what it is.
  std::vector<Sample> Samples(Mode mode) const override;
  // A burst was almost whole what the oracle did in it: nothing is known of this entrant.
  std::optional<Outcome> DoubtShares() const;

 protected:
  WallEntrant(WallBout& bout, std::string label, bool is_candidate, std::string callee)
      : Entrant(std::move(label), is_candidate), bout_(bout), callee_(std::move(callee)) {}

  // Untimed bursts. The process is paused before and after, here and below.
  StepResult WarmUp(CalledProcess& process);
  // A turn's timed bursts.
  StepResult RunTimed(CalledProcess& process, const Sample& stamp);
  // One burst: its time is kept with a stamp, unless `stamp` is null or the burst was too short.
  StepResult RunOne(CalledProcess& process, int calls, const Sample* stamp);
  // Bursts until one is long enough to be timed.
  StepResult RunUntilLongEnough(CalledProcess& process, const Sample& stamp);
  // Advice from the entrant's own process: nothing depends on it. Tracing ends a process's use for
  // timing, so it comes last.
  Status ReadActivity(CalledProcess& process);
  // After a burst that was right, which left `last`.
  virtual Status AfterBurst(const BatchPlan& last);
  virtual bool IsOfTorch() const { return false; }

  // A call that ended so is the candidate's verdict, or a baseline's (our) trouble.
  StepResult Failed(const CalledProcess& process, const CallResult& call,
                    const std::string& step) const;

  WallBout& bout_;
  std::string callee_;
  int calls_ = 0;       // a burst; 0: not known yet
  double null_us_ = 0;  // of the hand-over, taken off PyTorch's calls

 private:
  StepResult JudgeBurst(const BurstResult& result);
  std::optional<Outcome> JudgeLook(const BadLook& look) const;
  std::optional<Outcome> FindStale(const OutputReport& report, int combination) const;
  Status CheckBaseline(const BurstResult& result) const;

  std::vector<OracleWork> work_;  // of each sample's burst
  bool too_short_ = false;        // the last burst was, and has no sample
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_WALL_ENTRANT_H_
