// One job on its way to a verdict: check launches, then rounds of timed batches in several runners,
// every output inspected, samples gathered.
#ifndef WARPSMITH_JUDGE_TRIAL_H_
#define WARPSMITH_JUDGE_TRIAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/device.h"
#include "cuda/nvml.h"
#include "judge/answer_book.h"
#include "judge/arena.h"
#include "judge/called_process.h"
#include "judge/inspection.h"

namespace warpsmith::judge {

// What is called in the runner.
struct Callee {
  std::string name;
  // The outputs are this task's. False where a baseline reads B in another layout: then only that
  // everything was written is checked.
  bool same_product = true;
};

// Who takes part. Two contenders may share a runner's callable: the bar and its A/A twin.
struct ContenderSpec {
  std::string label;  // in the verdict: "candidate", "cublaslt-auto", "cublaslt-auto/again"
  bool is_candidate = false;
  Callee callee;                        // in every mode but
  std::map<Mode, Callee> in_mode = {};  // these: a library's choice is each mode's own

  const Callee& In(Mode mode) const {
    const auto own = in_mode.find(mode);
    return own == in_mode.end() ? callee : own->second;
  }
};

struct TrialContext {
  OracleDevice* device = nullptr;
  Arena* arena = nullptr;
  const cuda::TelemetryReader* telemetry = nullptr;  // null: not available
  const DeviceInfo* info = nullptr;
  const Job* job = nullptr;
  Random* random = nullptr;
};

// Each step ends in nothing (go on), an Outcome (the verdict is known), or an Error (ours).
using StepResult = Result<std::optional<Outcome>>;

class Trial {
 public:
  Trial(const TrialContext& context, std::vector<ContenderSpec> contenders);

  StepResult RunChecks(CalledProcess& runner);
  // Untimed launches of every contender, at least once each, for `seconds`.
  StepResult WarmUp(CalledProcess& runner, double seconds);
  StepResult RunRound(CalledProcess& runner, int process, int round);
  // Untimed batches of a short kernel until so many launches have been verified that rare errors
  // show, for so many seconds at most.
  StepResult VerifyMore(CalledProcess& runner, int64_t launches, double seconds);
  // What is not timed and only certified verdicts ask for: launches while most SMs are taken, and
  // whether a launch reaches for others' inputs (where cold launches are timed).
  StepResult RunSideChecks(CalledProcess& runner);
  // The contents have been renewed: what a combination's output was means nothing any more.
  void ForgetContents() { answers_.ForgetContents(); }

  // Do so many rounds in so many seconds satisfy the protocol?
  bool Enough(int rounds, double seconds) const;
  Result<Passed> Finish();

 private:
  struct Turn {
    Mode mode;
    size_t contender;
    bool late_inputs = false;  // to see whether it waits: no sample comes of it
    int free_sms = 0;          // > 0: the others are taken. No sample comes of it
  };
  StepResult RunCrowded(CalledProcess& runner);
  StepResult ProbeUnusedSlots(CalledProcess& runner);
  StepResult RunBatch(CalledProcess& runner, const Turn& turn, std::vector<Sample>* samples,
                      const Sample& stamp);
  StepResult Inspect(const ContenderSpec& contender, const BatchPlan& batch, uint16_t poison,
                     Mode mode);
  std::optional<Outcome> Biased() const;
  StepResult InspectBaseline(const ContenderSpec& contender, Mode mode,
                             const Inspection& inspection) const;
  std::optional<Outcome> InspectCandidate(const BatchPlan& batch, const Inspection& inspection,
                                          Mode mode);
  int MostTimedOf(const Callee& callee) const;
  // Half the width of the interval of the ratio to the bar (of the candidate's own time without a
  // baseline), in the first mode.
  double PrimaryHalfWidth() const;
  Result<ModeTiming> TimingOf(Mode mode) const;

  TrialContext context_;
  std::vector<ContenderSpec> contenders_;
  std::map<Mode, std::vector<std::vector<Sample>>> samples_;  // mode -> contender -> samples
  Correctness correctness_;
  AnswerBook answers_;
  // At most so many launches a batch, from how long a check launch takes.
  std::map<std::string, int> most_timed_;  // by callee
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TRIAL_H_
