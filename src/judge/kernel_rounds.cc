// How the oracle measures a kernel: the runner processes, their rounds, and the baselines inside
// them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/gpu_turns.h"
#include "judge/oracle.h"

namespace warpsmith::judge {
namespace {

constexpr int kCandidatesPerRunner = 64;
// What a certified verdict of a short kernel rests on, and the longest that more of it may take.
constexpr int64_t kCertifiedLaunches = 10'000;
constexpr double kVerifySeconds = 20;
constexpr std::chrono::seconds kArenaLimit{60};
constexpr std::chrono::seconds kBaselineLimit{180};  // autotuning times up to 200 algorithms

bool SharesRunner(const Protocol& protocol) {
  return protocol.level == Level::kScreened && protocol.runner_processes <= 1;
}

class Stopwatch {
 public:
  double seconds() const { return MonotonicSeconds() - start_; }

 private:
  double start_ = MonotonicSeconds();
};

}  // namespace

Result<Outcome> Oracle::Measure(const Job& job, Stage& stage, Evidence& evidence) {
  const int processes = std::max(1, job.protocol.runner_processes);
  if (!SharesRunner(job.protocol)) TRY(pool_.Prepare(static_cast<size_t>(processes)));
  if (job.protocol.renew_contents) TRY(stage.arena->Renew(random_, true));
  TRY(ReadyRunner(job, stage));
  // Whatever the job before did to the slots (it may have been killed in the act) is undone.
  TRY(stage.arena->RefillGuards());
  TRY(stage.arena->Reassign(random_));
  Trial trial({device_.get(), stage.arena.get(), telemetry_ ? &*telemetry_ : nullptr, &info_, &job,
               &random_},
              TRY(Contenders(job, stage, evidence)));
  const Stopwatch watch;
  int rounds = 0;
  for (int process = 0;; ++process) {
    if (process >= processes) TRY(pool_.Prepare(2));  // two contexts start in the time of one
    if (process > 0) {
      if (job.protocol.renew_contents) {
        TRY(stage.arena->Renew(random_, false));
        trial.ForgetContents();
      }
      TRY(ReadyRunner(job, stage));
      TRY(Contenders(job, stage, evidence));
    }
    if (auto outcome = TRY(Enter(job, stage, trial, process))) return *outcome;
    if (auto outcome = TRY(RunRounds(job, trial, process, rounds))) return *outcome;
    if (process + 1 >= processes && trial.Enough(rounds, watch.seconds())) break;
  }
  if (job.protocol.level == Level::kCertified) {
    if (auto outcome = TRY(trial.VerifyMore(*runner_, kCertifiedLaunches, kVerifySeconds))) {
      return *outcome;
    }
  }
  return Outcome(TRY(trial.Finish()));
}

StepResult Oracle::Enter(const Job& job, Stage& stage, Trial& trial, int process) {
  const ArenaPlan& plan = stage.arena->plan();
  const CandidateCommand command{std::string(kCandidateName), job.candidate.plan,
                                 plan.touch_launches + plan.timed_launches};
  const CallResult loaded = runner_->Call(
      command, std::chrono::milliseconds(job.protocol.step_timeout_ms), job.artifact->image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return std::optional(OutcomeOfCall(loaded, "loading the candidate"));
  }
  ++runner_->candidates;
  // Whatever an earlier candidate did to the shared memory before it failed is undone.
  TRY(stage.arena->RefillGuards());
  TRY(stage.arena->Reassign(random_));
  if (process == 0) {
    if (auto outcome = TRY(trial.RunChecks(*runner_))) return outcome;
  }
  return trial.WarmUp(*runner_, process == 0 ? job.protocol.warmup_seconds : 0);
}

// This process's share of the rounds and of the time; a lone process goes on until it is enough.
StepResult Oracle::RunRounds(const Job& job, Trial& trial, int process, int& rounds) {
  const int processes = std::max(1, job.protocol.runner_processes);
  const int share = (std::max(1, job.protocol.rounds) + processes - 1) / processes;
  const double share_seconds = job.protocol.measure_seconds / processes;
  const Stopwatch watch;
  for (int done = 1;; ++done) {
    auto outcome = TRY(trial.RunRound(*runner_, process, rounds++));
    if (outcome) return outcome;
    if (done < share || watch.seconds() < share_seconds) continue;
    if (processes > 1 || trial.Enough(rounds, watch.seconds())) return outcome;
  }
}

Status Oracle::ReadyRunner(const Job& job, Stage& stage) {
  const bool goes_on = SharesRunner(job.protocol) && runner_ != nullptr && runner_->alive() &&
                       runner_->candidates < kCandidatesPerRunner;
  if (goes_on) {
    TRY(pool_.Settle());  // no context is being created while something is timed
  } else {
    runner_.reset();
    TRY(NobodyLeftBehind());
    runner_ = TRY(pool_.Take());
  }
  return runner_->arena_id == stage.arena->id() ? Status{} : MapArena(stage);
}

Status Oracle::MapArena(Stage& stage) {
  const Arena& arena = *stage.arena;
  const ArenaCommand command{stage.task, stage.workload, arena.mapped_bytes(),
                             arena.plan().input_slots, arena.plan().output_slots};
  const std::vector<int> descriptors = TRY(arena.Export());
  runner_->arena_id.clear();  // whatever comes of it, the old one is gone
  const CallResult mapped = runner_->Call(command, kArenaLimit, {}, descriptors);
  for (int descriptor : descriptors) close(descriptor);
  if (!std::holds_alternative<Reply>(mapped)) return ErrorOfCall(mapped, "mapping the arena");
  runner_->arena_id = arena.id();
  runner_->baselines.clear();
  return {};
}

Result<std::vector<ContenderSpec>> Oracle::Contenders(const Job& job, Stage& stage,
                                                      Evidence& evidence) {
  std::vector<ContenderSpec> contenders = {
      {std::string(kCandidateName), std::string(kCandidateName), true, true}};
  const bool certified = job.protocol.level == Level::kCertified;
  for (const std::string& name : job.task.baselines) {
    if (IsOnTheWall(job.task, name)) continue;  // CompareOnTheWall
    contenders.push_back(TRY(Baseline(stage, name, evidence)));
    if (!certified && !job.protocol.every_baseline) break;  // a search asks about the bar alone
  }
  if (certified && contenders.size() > 1) {
    ContenderSpec again = contenders[1];
    again.label += "/again";
    contenders.push_back(std::move(again));
  }
  return contenders;
}

Result<ContenderSpec> Oracle::Baseline(Stage& stage, const std::string& name, Evidence& evidence) {
  for (const Rival& rival : stage.task.rivals) {
    if (rival.name == name) return RivalBaseline(stage, rival);
  }
  return LibraryBaseline(stage, name, evidence);
}

Result<ContenderSpec> Oracle::RivalBaseline(Stage& stage, const Rival& rival) {
  const ContenderSpec spec{rival.name, "rival " + rival.name, false, true};
  auto& ready = runner_->baselines;
  if (std::find(ready.begin(), ready.end(), rival.name) != ready.end()) return spec;
  auto found = stage.rivals.find(rival.name);
  if (found == stage.rivals.end()) {
    CHECK(options_.compiler != nullptr);
    CompileOutcome outcome = TRY(options_.compiler->Compile(rival.candidate, info_.architecture));
    if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
      return Error{ErrorCode::kBadInput,
                   "rival " + rival.name + " does not compile: " + failed->reason, ""};
    }
    found = stage.rivals.emplace(rival.name, std::move(std::get<Artifact>(outcome))).first;
  }
  const ArenaPlan& plan = stage.arena->plan();
  const CandidateCommand command{spec.callee, rival.candidate.plan,
                                 plan.touch_launches + plan.timed_launches};
  const CallResult loaded = runner_->Call(command, kArenaLimit, found->second.image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return ErrorOfCall(loaded, "loading rival " + rival.name);
  }
  ready.push_back(rival.name);
  return spec;
}

Result<ContenderSpec> Oracle::LibraryBaseline(Stage& stage, const std::string& name,
                                              Evidence& evidence) {
  constexpr std::string_view kLibrary = "lib:";
  if (name.starts_with(kLibrary) &&
      std::find(options_.libraries.begin(), options_.libraries.end(),
                name.substr(kLibrary.size())) == options_.libraries.end()) {
    return Error{ErrorCode::kBadInput,
                 "baseline " + name + ": a task may not load libraries into the judge",
                 "compare libraries with 'warpsmith hgemm bench --against'"};
  }
  std::string& choice = stage.choices[name];
  auto& ready = runner_->baselines;
  if (std::find(ready.begin(), ready.end(), name) == ready.end()) {
    const std::string step = fmt::format("making baseline {} ready", name);
    const CallResult made = runner_->Call(BaselineCommand{name, choice}, kBaselineLimit);
    const auto* reply = std::get_if<Reply>(&made);
    if (reply == nullptr) return ErrorOfCall(made, step);
    choice = reply->text;
    ready.push_back(name);
  }
  const auto parsed = TRY(baseline::GemmBaselineChoiceFromText(choice));
  if (evidence.baseline_library.empty()) evidence.baseline_library = parsed.library;
  const auto layout =
      stage.arena->problem().gemm->transposed ? cuda::GemmLayout::kTN : cuda::GemmLayout::kNN;
  return ContenderSpec{name, name, false, parsed.shape.layout == layout};
}

}  // namespace warpsmith::judge
