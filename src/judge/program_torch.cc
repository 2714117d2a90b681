#include "judge/program_torch.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/median.h"
#include "base/phase.h"
#include "judge/arena_mapping.h"
#include "judge/gpu_turns.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kTorchStartLimit{180};  // importing torch from a cold disk
constexpr std::chrono::seconds kLoadLimit{600};        // torch.compile tries many kernels
constexpr std::chrono::seconds kTorchMapLimit{120};
constexpr int kNullCalls = 1000;  // at most, to measure the hand-over
constexpr int kChoiceBursts = 3;
constexpr double kLeastLead = 1.1;  // below it two times are alike
constexpr double kMostDrift = 3;    // of a time with the hand-over in it against one without

// The stage's process, with the arena mapped; it goes on where it was paused.
Result<CalledProcess*> ReadyTorch(WallBout& bout) {
  KeptTorch& kept = *bout.context.kept;
  if (kept.process != nullptr && kept.process->alive()) {
    kept.process->Resume();
    return kept.process.get();
  }
  kept.loaded.clear();
  kept.null_us.clear();
  kept.process = TRY(bout.context.torch());
  TRY(kept.process->AwaitReady(kTorchStartLimit));
  const Job& job = bout.contest.job();
  const CallResult mapped =
      TRY(MapArenaIn(*kept.process, bout.contest.arena(), job.task, job.workload, kTorchMapLimit));
  if (std::holds_alternative<Reply>(mapped)) return kept.process.get();
  kept.process.reset();
  return ErrorOfCall(mapped, "PyTorch: mapping the arena");
}

}  // namespace

StepResult TorchEntrant::Load() {
  CalledProcess* torch = TRY(ReadyTorch(bout_));
  std::map<std::string, std::string>& known = bout_.context.kept->loaded;
  if (known.contains(callee_)) return std::optional<Outcome>();
  const CheckContents& check = bout_.contest.arena().checks().front();
  TRY(bout_.contest.arena().StageCheck(check));  // loading makes a call
  TRY(bout_.contest.device().Synchronize());
  const CallResult loaded = torch->Call(LoadCommand{callee_}, kLoadLimit);
  const auto* reply = std::get_if<Reply>(&loaded);
  if (reply == nullptr) return ErrorOfCall(loaded, fmt::format("PyTorch: loading '{}'", callee_));
  if (auto outcome = TRY(Check(check, 0))) return outcome;
  known[callee_] = reply->text;
  return std::optional<Outcome>();
}

StepResult TorchEntrant::Check(const CheckContents&, uint16_t) {
  const CallResult checked = process().Call(CheckCommand{callee_}, kLoadLimit);
  if (std::holds_alternative<Reply>(checked)) return std::optional<Outcome>();
  return ErrorOfCall(checked, fmt::format("PyTorch: the first call of '{}'", callee_));
}

StepResult TorchEntrant::Measure(Mode, const Sample& stamp) {
  process().Pause();
  if (auto outcome = TRY(WarmUp(process()))) return outcome;
  // Programs answer by the same code as the hand-over's measurement: what it costs is in all their
  // times.
  double& null_us = bout_.context.kept->null_us[callee_];
  if (null_us == 0) {
    const NullCost cost =
        TRY(MeasureNullCost(bout_.Bench(), process(), std::min(calls_, kNullCalls)));
    if (cost.failure) return Failed(process(), *cost.failure, "measuring the hand-over");
    null_us = cost.call_us;
  }
  null_us_ = null_us;  // the same for all turns of a callee, a twin's too
  return RunTimed(process(), stamp);
}

double TorchEntrant::MedianUs() const {
  std::vector<double> us;
  for (const Sample& sample : Samples(Mode::kWall)) us.push_back(sample.us);
  return Median(std::move(us));
}

Result<double> TorchEntrant::TimeAlone() {
  calls_ = 2;
  TRY(Load());
  process().Pause();
  for (int i = 0; i <= kChoiceBursts; ++i) {
    const std::optional<Outcome> trouble =
        TRY(i == 0 ? RunOne(process(), calls_, nullptr) : RunUntilLongEnough(process(), {0, i}));
    if (trouble) return Error{ErrorCode::kInternal, warpsmith::Describe(*trouble), "judge again"};
  }
  return MedianUs();
}

Status TorchEntrant::Trace() {
  TRY(Load());
  process().Pause();
  return ReadActivity(process());
}

// The oracle's cost is kept with the arena: it is the device and the outputs' sizes that decide.
Status TorchEntrant::AfterBurst(const BatchPlan& last) {
  const Phase phase("oracle-cost");
  TRY(CheckNoSurvivors());
  std::optional<OracleCost>& kept = bout_.context.kept->oracle;
  const OracleCost now = TRY(MeasureOracleCost(bout_.Bench(), last));
  kept = kept ? LowerCost(*kept, now) : now;
  return {};
}

Result<std::unique_ptr<WallEntrant>> TorchBaselines::Make(const std::string& name) {
  std::string label = name, callee;
  if (name == "torch-eager" || name == "torch-compile") {
    callee = name.substr(name.find('-') + 1);
  } else if (name == "torch-best") {
    callee = TRY(Best());
    label += " (" + callee + ")";
  } else {
    return Error{ErrorCode::kBadInput,
                 fmt::format("task {}: baseline {} cannot be compared with programs",
                             bout_.contest.job().task.name, name),
                 "use torch-eager, torch-compile, torch-best or a rival's name"};
  }
  auto entrant = std::make_unique<TorchEntrant>(bout_, label, callee);
  entrants_.push_back(entrant.get());
  bout_.has_torch = true;
  return std::unique_ptr<WallEntrant>(std::move(entrant));
}

TorchChoice TorchBaselines::ChoiceOnDisk() const {
  const Job& job = bout_.contest.job();
  return TorchChoice(TaskId(job.task), job.workload, kept().process->started().text,
                     bout_.contest.info().name);
}

// The better of the two, remembered in this stage and on disk.
Result<std::string> TorchBaselines::Best() {
  if (kept().choice) return kept().choice->Best();
  TRY(ReadyTorch(bout_));
  kept().choice = ChoiceOnDisk().Find();
  if (!kept().choice) TRY(Choose());
  return kept().choice->Best();
}

Status TorchBaselines::Choose() {
  TorchChoice::Times times;
  times.eager_us = TRY(TorchEntrant(bout_, "eager", "eager").TimeAlone());
  // Not everything can be compiled, or is right when it was: then there is nothing to choose.
  const Result<double> compile_us = TorchEntrant(bout_, "compile", "compile").TimeAlone();
  if (compile_us.ok()) times.compile_us = *compile_us;
  kept().choice = times;
  kept().choice_is_new = true;
  return ChoiceOnDisk().Store(times);
}

// A choice holds for many verdicts. One that was made while something kept the machine busy would
// lower the primary baseline of all of them. So a new choice is put to the test again at the
// verdict's end: its loser may have been the only one disturbed. An old choice is tested where the
// winner's time no longer holds; its loser lost twice, minutes apart, and to load it again for each
// verdict can take minutes, too.
StepResult TorchBaselines::Reconsider() {
  const Phase phase("baselines");
  if (!kept().choice) return std::optional<Outcome>();
  const TorchChoice::Times then = *kept().choice;
  if (kept().choice_is_new) {
    TRY(Confirm());
    return CompareWith(then);
  }
  const auto chosen = std::find_if(entrants_.begin(), entrants_.end(),
                                   [&](const auto* one) { return one->callee() == then.Best(); });
  if (chosen == entrants_.end()) return std::optional<Outcome>();
  if (then.BestUs() <= kMostDrift * (*chosen)->MedianUs()) return std::optional<Outcome>();
  TRY(Choose());
  return CompareWith(then);
}

// A second contest. Disturbances only add time, so of each callee the smaller counts. The first
// choice stays unless it was clearly wrong: by less PyTorch's times differ from burst to burst.
Status TorchBaselines::Confirm() {
  const TorchChoice::Times first = *kept().choice;
  kept().choice_is_new = false;
  if (!first.compile_us) return {};
  const Result<double> eager_us = TorchEntrant(bout_, "eager", "eager").TimeAlone();
  const Result<double> compile_us = TorchEntrant(bout_, "compile", "compile").TimeAlone();
  if (!eager_us.ok() || !compile_us.ok()) return {};
  const TorchChoice::Times both{std::min(first.eager_us, *eager_us),
                                std::min(*first.compile_us, *compile_us)};
  const double of_first = first.Best() == "eager" ? both.eager_us : *both.compile_us;
  if (both.Best() != first.Best() && of_first <= kLeastLead * both.BestUs()) return {};
  kept().choice = both;
  return ChoiceOnDisk().Store(both);
}

// Judge again, where another was chosen than `then`.
StepResult TorchBaselines::CompareWith(const TorchChoice::Times& then) const {
  const TorchChoice::Times& now = *kept().choice;
  if (now.Best() == then.Best()) return std::optional<Outcome>();
  return std::optional<Outcome>(Inconclusive{
      fmt::format("'{}' was chosen as PyTorch's better on times that no longer hold ({:.4g} us "
                  "then); now it is '{}' ({}): judge again",
                  then.Best(), then.BestUs(), now.Best(), now.Text())});
}

// What profiles a PyTorch process slows its later calls, too: the next job gets a new one.
Status TorchBaselines::Describe() {
  if (kept().process == nullptr) return {};
  Evidence& evidence = bout_.contest.evidence();
  evidence.baseline_library = kept().process->started().text;
  if (kept().choice) evidence.baseline_choice = kept().choice->Text();
  if (!bout_.contest.is_certified()) return {};
  for (TorchEntrant* entrant : entrants_) TRY(entrant->Trace());
  kept().process.reset();
  return {};
}

}  // namespace warpsmith::judge
