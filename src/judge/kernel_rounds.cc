// How the oracle measures a kernel: the runner processes, their rounds, and the baselines inside
// them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "judge/arena_mapping.h"
#include "judge/baseline/choice_cache.h"
#include "judge/baseline/entrants.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/gpu_turns.h"
#include "judge/library_contest.h"
#include "judge/oracle.h"

namespace warpsmith::judge {
namespace {

constexpr int kCandidatesPerRunner = 64;
// What a certified verdict of a short kernel rests on, and the longest that more of it may take.
constexpr int64_t kCertifiedLaunches = 10'000;
constexpr double kVerifySeconds = 20;
constexpr std::chrono::seconds kArenaLimit{60};

bool SharesRunner(const Protocol& protocol) {
  return protocol.level == Level::kScreened && protocol.runner_processes <= 1;
}

std::string ProductText(const GemmShape& product) {
  return fmt::format("{}x{}x{} {} {}", product.m, product.n, product.k, Name(product.dtype),
                     product.transposed ? "TN" : "NN");
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
  TRY(ReadyRunner(job.protocol, stage));
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
      TRY(ReadyRunner(job.protocol, stage));
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
  const LoadCommand command{std::string(kCandidateName),
                            {},
                            job.candidate.plan,
                            plan.touch_launches + plan.timed_launches};
  const CallResult loaded = runner_->Call(
      command, std::chrono::milliseconds(job.protocol.step_timeout_ms), job.artifact->image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return std::optional(runner_->OutcomeOf(loaded, "loading the candidate"));
  }
  ++runner_->candidates;
  // Whatever an earlier candidate did to the shared memory before it failed is undone.
  TRY(stage.arena->RefillGuards());
  TRY(stage.arena->Reassign(random_));
  if (process == 0) {
    if (auto outcome = TRY(trial.RunChecks(*runner_))) return outcome;
  }
  const double seconds = process == 0 ? job.protocol.warmup_seconds : 0;
  if (auto outcome = TRY(trial.WarmUp(*runner_, seconds))) return outcome;
  const bool certified = job.protocol.level == Level::kCertified;
  return certified && process == 0 ? trial.RunSideChecks(*runner_)
                                   : StepResult(std::optional<Outcome>());
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

Status Oracle::ReadyRunner(const Protocol& protocol, Stage& stage) {
  const bool goes_on = SharesRunner(protocol) && runner_ != nullptr && runner_->alive() &&
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
  const CallResult mapped =
      TRY(MapArenaIn(*runner_, *stage.arena, stage.task, stage.workload, kArenaLimit));
  if (!std::holds_alternative<Reply>(mapped)) return ErrorOfCall(mapped, "mapping the arena");
  runner_->baselines.clear();
  return {};
}

Result<std::vector<ContenderSpec>> Oracle::Contenders(const Job& job, Stage& stage,
                                                      Evidence& evidence) {
  std::vector<ContenderSpec> contenders = {
      {std::string(kCandidateName), true, {std::string(kCandidateName)}}};
  const bool certified = job.protocol.level == Level::kCertified;
  for (const std::string& name : job.task.baselines) {
    if (IsOnTheWall(job.task, name)) continue;  // CompareOnTheWall
    contenders.push_back(TRY(Baseline(job, stage, name, evidence)));
    if (!certified && !job.protocol.every_baseline) break;  // a search asks about the bar alone
  }
  if (certified && contenders.size() > 1) {
    ContenderSpec again = contenders[1];
    again.label += "/again";
    contenders.push_back(std::move(again));
  }
  return contenders;
}

Result<ContenderSpec> Oracle::Baseline(const Job& job, Stage& stage, const std::string& name,
                                       Evidence& evidence) {
  for (const Rival& rival : stage.task.rivals) {
    if (rival.name == name) return RivalBaseline(stage, rival);
  }
  return LibraryBaseline(job, stage, name, evidence);
}

Result<ContenderSpec> Oracle::RivalBaseline(Stage& stage, const Rival& rival) {
  const ContenderSpec spec{rival.name, false, {"rival " + rival.name}};
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
  const LoadCommand command{
      spec.callee.name, {}, rival.candidate.plan, plan.touch_launches + plan.timed_launches};
  const CallResult loaded = runner_->Call(command, kArenaLimit, found->second.image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return ErrorOfCall(loaded, "loading rival " + rival.name);
  }
  ready.push_back(rival.name);
  return spec;
}

Result<ContenderSpec> Oracle::LibraryBaseline(const Job& job, Stage& stage, const std::string& name,
                                              Evidence& evidence) {
  constexpr std::string_view kLibrary = "lib:";
  if (name.starts_with(kLibrary) &&
      std::find(options_.libraries.begin(), options_.libraries.end(),
                name.substr(kLibrary.size())) == options_.libraries.end()) {
    return Error{ErrorCode::kBadInput,
                 "baseline " + name + ": a task may not load libraries into the judge",
                 "compare libraries with 'warpsmith hgemm bench --against'"};
  }
  ChoiceRequest request;
  request.name = name;
  request.modes = job.protocol.modes;
  const ModeChoices choices = TRY(ChoicesOf(stage, request));
  const auto layout =
      stage.arena->problem().gemm->transposed ? cuda::GemmLayout::kTN : cuda::GemmLayout::kNN;
  ContenderSpec spec{name, false, {}};
  for (const Mode mode : request.modes) {
    const baseline::GemmBaselineChoice& choice = choices.at(mode);
    TRY(MakeCallReady(*runner_, choice));
    spec.in_mode[mode] = {baseline::CallOf(choice), choice.shape.layout == layout};
  }
  spec.callee = spec.in_mode.at(request.modes.front());
  if (evidence.baseline_library.empty()) {
    evidence.baseline_library = choices.begin()->second.library;
  }
  return spec;
}

Result<ModeChoices> Oracle::ChoicesOf(Stage& stage, const ChoiceRequest& request) {
  ModeChoices& known = choices_[request.name + " " + ProductText(*stage.arena->problem().gemm)];
  const bool anew = request.again || request.exhaustive_seconds > 0;
  const auto lacks = [&](Mode mode) { return anew || !known.contains(mode); };
  if (std::none_of(request.modes.begin(), request.modes.end(), lacks)) return known;
  LibraryContest contest(*runner_, *stage.arena, random_);
  auto entrants = TRY(contest.Entrants(request));
  const baseline::GemmBaselineName name = entrants.front().name;
  const cuda::GemmShape& shape = entrants.front().shape;
  const baseline::ChoiceCache cache =
      baseline::ChoiceCache::Default({info_.name, info_.driver, entrants.front().library});
  std::vector<Mode> open;
  for (const Mode mode : request.modes) {
    if (entrants.size() == 1) known[mode] = entrants.front();  // there is nothing to choose
    if (entrants.size() == 1 || !lacks(mode)) continue;
    const auto cached = TRY(cache.Find({name, {shape.m, shape.n, shape.k, shape.type}, mode}));
    const bool serves =
        cached && !request.again && (request.exhaustive_seconds <= 0 || cached->exhaustive);
    if (cached) known[mode] = *cached;
    if (!serves) open.push_back(mode);
  }
  if (open.empty()) return known;
  // What was chosen before may be of an exhaustive list: it must be beaten to be replaced.
  for (const auto& [mode, choice] : known) entrants.insert(entrants.begin(), choice);
  entrants = TRY(contest.MakeReady(baseline::DistinctCalls(std::move(entrants)), request));
  for (const Mode mode : open) {
    const auto winners = TRY(contest.Hold(entrants, mode));
    TRY(cache.Put(winners));
    known[mode] = winners.front();
    if (mode == open.front()) entrants = contest.Shortlist(entrants);
  }
  return known;
}

Result<ModeChoices> Oracle::Choose(const Task& task, const Workload& workload,
                                   const ChoiceRequest& request) {
  if (runner_ == nullptr) TRY(pool_.Prepare(2));
  Stage* stage = TRY(stages_.Of(task, workload));
  if (!stage->arena->problem().gemm) {
    return Error{ErrorCode::kBadInput, "the task is no matrix product: it has no library to choose",
                 ""};
  }
  TRY(ReadyRunner(Protocol::Screened(), *stage));
  TRY(stage->arena->RefillGuards());
  TRY(stage->arena->Reassign(random_));
  auto choices = ChoicesOf(*stage, request);
  if (!runner_->alive()) runner_.reset();
  return choices;
}

}  // namespace warpsmith::judge
