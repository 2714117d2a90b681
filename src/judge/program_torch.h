// PyTorch as a baseline on the wall clock: its process, which contests of one stage share, and which
// of its two ways, eager or compiled, is the better.
#ifndef WARPSMITH_JUDGE_PROGRAM_TORCH_H_
#define WARPSMITH_JUDGE_PROGRAM_TORCH_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/wall_entrant.h"

namespace warpsmith::judge {

class TorchEntrant : public WallEntrant {
 public:
  // `callee`: "eager" or "compile".
  TorchEntrant(WallBout& bout, std::string label, std::string callee)
      : WallEntrant(bout, std::move(label), false, std::move(callee)) {}

  StepResult Load() override;
  StepResult Check(const CheckContents& check, uint16_t poison) override;
  StepResult Measure(Mode mode, const Sample& stamp) override;

  const std::string& callee() const { return callee_; }
  double MedianUs() const;
  // Microseconds a call, outside the contest's rounds.
  Result<double> TimeAlone();
  Status Trace();

 private:
  Status AfterBurst(const BatchPlan& last) override;
  bool IsOfTorch() const override { return true; }
  CalledProcess& process() const { return *bout_.context.kept->process; }
};

class TorchBaselines {
 public:
  explicit TorchBaselines(WallBout& bout) : bout_(bout) {}

  // kBadInput for a name that PyTorch has not.
  Result<std::unique_ptr<WallEntrant>> Make(const std::string& name);
  // After the last round: does the choice still hold by which a baseline was made?
  StepResult Reconsider();
  // What the verdict tells of PyTorch; last of all, since it ends the process's use for timing.
  Status Describe();

 private:
  KeptTorch& kept() const { return *bout_.context.kept; }
  TorchChoice ChoiceOnDisk() const;
  Result<std::string> Best();
  Status Choose();
  Status Confirm();
  StepResult CompareWith(const TorchChoice::Times& then) const;

  WallBout& bout_;
  std::vector<TorchEntrant*> entrants_;  // of the contest
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_TORCH_H_
