// A job that is timed on the wall clock on its way to a verdict: every contender in a process of
// its own, checked, then timed in bursts on the oracle's clock. Programs, and the plans of kernels
// that are to be compared with PyTorch.
#ifndef WARPSMITH_JUDGE_PROGRAM_TRIAL_H_
#define WARPSMITH_JUDGE_PROGRAM_TRIAL_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/artifact.h"
#include "core/verdict.h"
#include "judge/answer_book.h"
#include "judge/burst_run.h"
#include "judge/called_process.h"
#include "judge/timing_table.h"
#include "judge/torch_choice.h"
#include "judge/trial.h"

namespace warpsmith::judge {

// Kept with an arena, and gone before it: PyTorch's process, which takes long to start, and which
// of its callees is the better.
struct KeptTorch {
  std::unique_ptr<CalledProcess> process;
  std::map<std::string, std::string> loaded;  // callee -> what it said about itself
  std::map<std::string, double> null_us;      // callee -> what the hand-over of a call takes
  std::optional<OracleCost> oracle;           // the least of all its turns
  std::optional<TorchChoice::Times> choice;
  bool choice_is_new = false;  // made here, and not confirmed yet
};

struct ProgramContext {
  TrialContext trial;
  ProcessOptions program;  // what starts `internal-program`; its start.hidden is filled in here
  std::function<Result<std::unique_ptr<CalledProcess>>()> torch;  // starts PyTorch's process
  std::function<Result<Artifact>(const Candidate&)> compile;      // for rivals, shim included
  KeptTorch* kept = nullptr;
};

class ProgramTrial {
 public:
  explicit ProgramTrial(const ProgramContext& context);

  // Errors are the harness's: no statement about the candidate. Fills what is to be told of the
  // candidate's process and the baselines.
  Result<Outcome> Run(Evidence& evidence);

 private:
  enum class Kind : uint8_t { kCandidate, kRival, kTorch };
  struct Contender {
    Kind kind = Kind::kCandidate;
    ContenderSamples timing;       // as the clock said; what counts: NetTimes
    std::vector<OracleWork> work;  // of each sample's burst
    std::string callee = "program";
    const Artifact* artifact = nullptr;  // of a program
    int calls = 0;                       // a burst; 0: not known yet
    double null_us = 0;                  // of the hand-over, taken off PyTorch's calls
    bool too_short = false;              // the last burst was, and has no sample
  };

  Status AddBaselines();
  Result<Contender> Baseline(const std::string& name);
  bool Enough(int rounds, double seconds) const;
  // Without the hand-over, and the oracle's work where PyTorch's turns of this job tell what it is.
  ContenderSamples NetTimes(const Contender& contender) const;
  std::vector<ContenderSamples> NetTimes() const;
  Result<Passed> Finish() const;

  // In a fresh process, which ends with the turn.
  StepResult RunProgram(Contender& contender, int round);
  StepResult Enter(Contender& contender, CalledProcess& peer, int round);
  StepResult RunChecks(Contender& contender, CalledProcess& peer);
  StepResult RunTorch(Contender& contender, int round);
  StepResult RunBursts(Contender& contender, CalledProcess& peer, int round);
  // One burst: its time is kept with a stamp, unless `stamp` is null or the burst was too short.
  StepResult RunOne(Contender& contender, CalledProcess& peer, const Sample* stamp);
  // Bursts until one is long enough to be timed.
  StepResult RunTimed(Contender& contender, CalledProcess& peer, const Sample& stamp);
  // The burst before has found that the device was not left idle.
  StepResult Resident(const Contender& contender) const;
  Status ReadActivity(Contender& contender, CalledProcess& peer);

  std::optional<Outcome> JudgeLook(const BadLook& look) const;
  std::optional<Outcome> Biased() const;
  std::optional<Outcome> JudgeBurst(const BurstResult& result);
  Status CheckBaseline(const Contender& contender, const BurstResult& result) const;
  std::optional<Outcome> Stale(const OutputReport& report, int combination) const;

  // PyTorch.
  Result<CalledProcess*> Torch();
  Status LoadTorch(const std::string& callee);
  Result<std::string> BestOfTorch();
  Status ChooseTorch();
  TorchChoice ChoiceOnDisk() const;
  StepResult ReconsiderTorch();
  Status ConfirmTorch();
  // Judge again, where another was chosen than `then`.
  StepResult Chosen(const TorchChoice::Times& then) const;
  Status TraceTorch();
  Result<double> TimeOfTorch(const std::string& callee);
  bool HasTorch() const;
  // Somebody's times are what the oracle did, almost whole: nothing is known.
  std::optional<Outcome> MostlyOracle() const;
  // After a burst of PyTorch's, which left `last`.
  Status MeasureOracle(const BatchPlan& last);

  // A call that ended so is the candidate's verdict, or a baseline's (our) trouble.
  StepResult Failed(const Contender& contender, const CalledProcess& peer, const CallResult& call,
                    const std::string& step) const;
  BurstBench Bench() const;
  const Job& job() const { return *context_.trial.job; }
  bool certified() const { return job().protocol.level == Level::kCertified; }
  Arena& arena() const { return *context_.trial.arena; }

  ProgramContext context_;
  std::vector<Contender> contenders_;
  std::map<std::string, Artifact> rivals_;
  Correctness correctness_;
  AnswerBook answers_;
  std::string sandbox_;
  bool baselines_added_ = false;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_TRIAL_H_
