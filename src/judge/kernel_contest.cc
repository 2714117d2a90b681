#include "judge/kernel_contest.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "judge/batch_command.h"
#include "judge/inspection.h"
#include "judge/unused_slots.h"

namespace warpsmith::judge {
namespace {

// What a certified verdict of a short kernel rests on, and the longest that more of it may take.
constexpr int64_t kCertifiedLaunches = 10'000;
constexpr double kVerifySeconds = 20, kShortLaunchUs = 50;
// A batch of about this long is enough, however many launches the arena has room for.
constexpr double kLongBatchUs = 20'000;

constexpr std::string_view kBehindAProducer =
    "; it is launched programmatically, and ran behind a kernel that writes the inputs late: does "
    "it wait for them (griddepcontrol.wait) before it reads any?";
constexpr std::string_view kCrowded =
    "; its blocks began one after another, while most of the SMs were taken: does one of them "
    "read what another writes, without waiting for it?";

int MostTimed(double launch_us) {
  return static_cast<int>(std::clamp(kLongBatchUs / std::max(launch_us, 1.0), 1.0, 4096.0));
}

StepResult WithHint(std::optional<Outcome> outcome, std::string_view hint) {
  auto* incorrect = outcome ? std::get_if<Incorrect>(&*outcome) : nullptr;
  if (incorrect != nullptr && incorrect->detector != "bias") incorrect->detail += hint;
  return outcome;
}

// What all entrants of a contest of kernels meet in.
struct Bout {
  Contest& contest;
  Stage& stage;
  Runners& runners;
  // At most so many launches a batch, from how long one takes; by callee.
  std::map<std::string, int> most_timed = {};

  std::chrono::milliseconds step_limit() const {
    return std::chrono::milliseconds(contest.job().protocol.step_timeout_ms);
  }
  bool begins_early() const { return BeginsEarly(contest.job().candidate.plan); }
};

// What is called in the runner.
struct Callee {
  std::string name;
  // The outputs are this task's. False where a baseline reads B in another layout: then only that
  // everything was written is checked.
  bool same_product = true;
};

struct BatchKind {
  Mode mode;
  // Without either of these a batch is a measurement, timed or not; with one its times mean nothing.
  bool late_inputs = false;  // to see whether a launch waits for its inputs
  int free_sms = 0;          // > 0: the others are taken
};

class KernelEntrant : public Entrant {
 public:
  KernelEntrant(Bout& bout, std::string label, bool is_candidate, std::string callee)
      : Entrant(std::move(label), is_candidate), bout_(bout), callee_{std::move(callee)} {}

  StepResult Check(const CheckContents& check, uint16_t poison) override {
    const CallResult call =
        bout_.runners.Current().Call(CheckCommand{callee_.name, poison}, bout_.step_limit());
    if (std::holds_alternative<Reply>(call)) return std::optional<Outcome>();
    return Failed(call, fmt::format("check launch '{}'", DetectorName(check.input)));
  }
  StepResult Measure(Mode mode, const Sample& stamp) override { return RunBatch({mode}, &stamp); }

  // Without a stamp no sample comes of it.
  StepResult RunBatch(const BatchKind& kind, const Sample* stamp);
  // What the batch's launches wrote, and whether they left everything else alone.
  StepResult Inspect(const BatchPlan& batch, uint16_t poison, Mode mode);
  const Callee& In(Mode mode) const {
    const auto own = in_mode_.find(mode);
    return own == in_mode_.end() ? callee_ : own->second;
  }

 protected:
  // A call that ended so is the candidate's verdict, or a baseline's (our) trouble.
  StepResult Failed(const CallResult& call, const std::string& step) const {
    if (!is_candidate()) return ErrorOfCall(call, step);
    return std::optional(bout_.runners.Current().OutcomeOf(call, step));
  }

  Bout& bout_;
  Callee callee_;                   // in every mode but
  std::map<Mode, Callee> in_mode_;  // these: a library's choice is each mode's own

 private:
  int MostTimedOf(const Callee& callee) const;
  StepResult InspectBaseline(const Inspection& inspection, bool same_product) const;
};

class CandidateKernel : public KernelEntrant {
 public:
  explicit CandidateKernel(Bout& bout)
      : KernelEntrant(bout, std::string(kCandidateName), true, std::string(kCandidateName)) {}

  StepResult Load() override {
    const Job& job = bout_.contest.job();
    const ArenaPlan& plan = bout_.contest.arena().plan();
    const LoadCommand load{
        callee_.name, {}, job.candidate.plan, plan.touch_launches + plan.timed_launches};
    CalledProcess& runner = bout_.runners.Current();
    const CallResult loaded = runner.Call(load, bout_.step_limit(), job.artifact->image);
    if (!std::holds_alternative<Reply>(loaded)) return Failed(loaded, "loading the candidate");
    ++runner.candidates;
    return std::optional<Outcome>();
  }
};

class RivalKernel : public KernelEntrant {
 public:
  RivalKernel(Bout& bout, const Rival& rival)
      : KernelEntrant(bout, rival.name, false, "rival " + rival.name), rival_(rival) {}

  StepResult Load() override {
    TRY(bout_.runners.LoadRival(bout_.stage, rival_, callee_.name));
    return std::optional<Outcome>();
  }

 private:
  const Rival& rival_;
};

class LibraryKernel : public KernelEntrant {
 public:
  LibraryKernel(Bout& bout, const std::string& name)
      : KernelEntrant(bout, name, false, name), name_(name) {}

  StepResult Load() override {
    TRY(bout_.runners.AllowLibrary(name_));
    ChoiceRequest request;
    request.name = name_;
    request.modes = bout_.contest.job().protocol.modes;
    const ModeChoices choices = TRY(bout_.runners.ChoicesOf(bout_.stage, request));
    const auto layout = bout_.contest.arena().problem().gemm->transposed ? cuda::GemmLayout::kTN
                                                                         : cuda::GemmLayout::kNN;
    for (const Mode mode : request.modes) {
      const baseline::GemmBaselineChoice& choice = choices.at(mode);
      TRY(MakeCallReady(bout_.runners.Current(), choice));
      in_mode_[mode] = {baseline::CallOf(choice), choice.shape.layout == layout};
    }
    std::string& library = bout_.contest.evidence().baseline_library;
    if (library.empty()) library = choices.begin()->second.library;
    return std::optional<Outcome>();
  }

 private:
  std::string name_;  // the baseline's, which a twin has too
};

// Launches of crossed problems are as long as their roofline says; others may take any time, so the
// first batch, the warm-up, is of one launch.
int KernelEntrant::MostTimedOf(const Callee& callee) const {
  const ArenaPlan& plan = bout_.contest.arena().plan();
  if (plan.crossed) return plan.timed_launches;
  const auto known = bout_.most_timed.find(callee.name);
  return known == bout_.most_timed.end() ? 1 : known->second;
}

StepResult KernelEntrant::RunBatch(const BatchKind& kind, const Sample* stamp) {
  Arena& arena = bout_.contest.arena();
  Random& random = bout_.contest.random();
  const Callee& callee = In(kind.mode);
  const BatchPlan batch =
      PlanBatch(arena.plan(), kind.mode, arena.assignments(), MostTimedOf(callee), random);
  // The expected outputs must be there before the launches: the inspection comes right after.
  TRY(arena.EnsureReferences(batch));
  SampleCommand command = CommandOf(arena, callee.name, kind.mode, batch, random);
  command.late_inputs = kind.late_inputs;
  command.free_sms = kind.free_sms;
  const CallResult call = bout_.runners.Current().Call(command, bout_.step_limit());
  const auto* reply = std::get_if<Reply>(&call);
  if (reply == nullptr) {
    return Failed(call, fmt::format("timed batch ({}) of {}", Name(kind.mode), label()));
  }
  Sample sample = bout_.contest.WithTelemetry(stamp == nullptr ? Sample() : *stamp);
  // Every batch is inspected, whether it is timed, warms up or probes: a kernel that behaves only
  // when it expects to be checked has no batch to cheat in. The times count after that alone.
  if (auto outcome = TRY(Inspect(batch, command.poison, kind.mode))) return outcome;
  const double launch_us = reply->elapsed_us.empty() ? 0 : reply->elapsed_us.front();
  const bool is_timed = !kind.late_inputs && kind.free_sms == 0;
  if (is_timed) bout_.most_timed[callee.name] = MostTimed(launch_us);
  if (stamp == nullptr) return std::optional<Outcome>();
  for (const double us : reply->elapsed_us) {
    sample.us = static_cast<float>(us);
    Keep(kind.mode, sample);
  }
  return std::optional<Outcome>();
}

StepResult KernelEntrant::Inspect(const BatchPlan& batch, uint16_t poison, Mode mode) {
  Arena& arena = bout_.contest.arena();
  const bool same_product = In(mode).same_product;
  const Detail detail = same_product ? Detail::kWorstElement : Detail::kCountsOnly;
  const Inspection inspection =
      TRY(InspectBatch(bout_.contest.device(), arena, batch, poison, detail));
  // A violation comes first: where inputs were changed, the outputs say nothing.
  if (inspection.violation) return std::optional<Outcome>(*inspection.violation);
  if (!is_candidate()) return InspectBaseline(inspection, same_product);
  for (size_t i = 0; i < inspection.outputs.size(); ++i) {
    const bool touch = i < batch.touch.size();
    const PlannedLaunch& launch = touch ? batch.touch[i] : batch.timed[i - batch.touch.size()];
    const std::string where =
        fmt::format("{} launch of a batch ({})", touch ? "touch" : "timed", Name(mode));
    auto wrong = bout_.contest.book().Enter(inspection.outputs[i],
                                            arena.plan().CombinationOf(launch.content), where);
    if (wrong) return std::optional<Outcome>(*std::move(wrong));
  }
  return std::optional<Outcome>();
}

StepResult KernelEntrant::InspectBaseline(const Inspection& inspection, bool same_product) const {
  for (const OutputReport& report : inspection.outputs) {
    const bool off = same_product ? report.wrong > 0 : report.poison > 0;
    if (!off) continue;
    return Error{ErrorCode::kInternal,
                 fmt::format("baseline {} computed a wrong product: {} elements off, {} unwritten",
                             label(), report.wrong, report.poison),
                 "leave this baseline out of the task"};
  }
  return std::optional<Outcome>();
}

class KernelContest : public Contest {
 public:
  KernelContest(const ContestContext& context, Stage& stage, Runners& runners)
      : Contest(context, Processes::kShared), bout_{*this, stage, runners} {
    auto candidate = std::make_unique<CandidateKernel>(bout_);
    candidate_ = candidate.get();
    kernels_.push_back(candidate_);
    Add(std::move(candidate));
  }

 private:
  StepResult Open(int process) override;
  Result<std::unique_ptr<Entrant>> Baseline(const std::string& name) override;
  StepResult Close() override;

  StepResult LoadEverything();
  StepResult CheckCandidate();
  StepResult WarmUp(double seconds);
  StepResult RunCrowded();
  StepResult ProbeUnusedSlots();
  Mode FirstMode() const { return job().protocol.modes.front(); }

  Bout bout_;
  CandidateKernel* candidate_;
  std::vector<KernelEntrant*> kernels_;  // entrants()
};

StepResult KernelContest::Open(int process) {
  const int processes = std::max(1, job().protocol.runner_processes);
  if (process >= processes) {
    TRY(bout_.runners.Prepare(2));  // two contexts start in the time of one
  } else if (process == 0 && !SharesRunner(job().protocol)) {
    TRY(bout_.runners.Prepare(static_cast<size_t>(processes)));
  }
  // The contents are new before the runner's memory is mapped: no process has seen the answers to
  // what the next one is asked.
  TRY(RenewContents(process));
  TRY(bout_.runners.MakeReady(job().protocol, bout_.stage));
  if (process == 0) {
    // The candidate of the job before may have been killed while it wrote to the slots.
    TRY(arena().RefillGuards());
    TRY(arena().Reassign(random()));
    TRY(AddBaselines());
  }
  if (auto outcome = TRY(LoadEverything())) return outcome;
  if (process == 0) {
    if (auto outcome = TRY(CheckCandidate())) return outcome;
  }
  if (auto outcome = TRY(WarmUp(process == 0 ? job().protocol.warmup_seconds : 0))) return outcome;
  if (!is_certified() || process > 0) return std::optional<Outcome>();
  if (auto outcome = TRY(RunCrowded())) return outcome;
  const auto& modes = job().protocol.modes;
  const bool is_cold = std::find(modes.begin(), modes.end(), Mode::kDeviceCold) != modes.end();
  return is_cold ? ProbeUnusedSlots() : StepResult(std::optional<Outcome>());
}

Result<std::unique_ptr<Entrant>> KernelContest::Baseline(const std::string& name) {
  if (IsTimedOnTheWall(job().task, name)) return std::unique_ptr<Entrant>();
  std::unique_ptr<KernelEntrant> baseline;
  for (const Rival& rival : bout_.stage.task.rivals) {
    if (rival.name == name) baseline = std::make_unique<RivalKernel>(bout_, rival);
  }
  if (baseline == nullptr) baseline = std::make_unique<LibraryKernel>(bout_, name);
  kernels_.push_back(baseline.get());
  return std::unique_ptr<Entrant>(std::move(baseline));
}

// The candidate comes last.
StepResult KernelContest::LoadEverything() {
  for (size_t i = 1; i < kernels_.size(); ++i) {
    if (auto outcome = TRY(kernels_[i]->Load())) return outcome;
  }
  if (auto outcome = TRY(candidate_->Load())) return outcome;
  // An earlier candidate of this runner may have written to the shared memory before it failed.
  TRY(arena().RefillGuards());
  TRY(arena().Reassign(random()));
  return std::optional<Outcome>();
}

StepResult KernelContest::CheckCandidate() {
  auto outcome = TRY(RunChecks());
  if (!bout_.begins_early()) return outcome;
  book().AddDetector("late-inputs");
  return WithHint(std::move(outcome), kBehindAProducer);
}

// Untimed batches of every entrant, at least one each, for so many seconds.
StepResult KernelContest::WarmUp(double seconds) {
  const int64_t until_ns = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  do {
    for (KernelEntrant* kernel : kernels_) {
      if (kernel->is_twin()) continue;  // the same callee was warmed up just now
      if (auto outcome = TRY(kernel->RunBatch({FirstMode()}, nullptr))) return outcome;
    }
    if (!bout_.begins_early()) continue;
    // Among the timed launches' own slots, where nothing looks like a check.
    auto outcome = TRY(candidate_->RunBatch({FirstMode(), true}, nullptr));
    if (outcome) return WithHint(std::move(outcome), kBehindAProducer);
  } while (MonotonicNs() < until_ns);
  return std::optional<Outcome>();
}

// A kernel whose blocks need each other's results, and do not wait for them, is right as long as all
// blocks run at once. So each launch begins while most SMs are taken.
StepResult KernelContest::RunCrowded() {
  for (const int free_sms : {1, 2, 3, 5, 17}) {
    auto outcome = TRY(candidate_->RunBatch({Mode::kDeviceCold, false, free_sms}, nullptr));
    if (outcome) return WithHint(std::move(outcome), kCrowded);
  }
  book().AddDetector("crowded");
  return std::optional<Outcome>();
}

// A slot in L2 that the launch was not given counts once it is found a second time: a line more or
// less is chance.
StepResult KernelContest::ProbeUnusedSlots() {
  constexpr std::string_view kName = "touches-other-slots";
  std::optional<Rejected> found;
  for (int tries = 0; tries < 2 && (tries == 0 || found); ++tries) {
    const BatchPlan batch =
        PlanBatch(arena().plan(), Mode::kDeviceCold, arena().assignments(), 1, random());
    TRY(arena().EnsureReferences(batch));
    UnusedSlots unused(device(), arena(), batch);
    if (!TRY(unused.Prepare())) {
      book().AddAbsent(
          fmt::format("{}: the inputs are too small, or L2 is not told from memory", kName));
      return std::optional<Outcome>();
    }
    const SampleCommand command = CommandOf(arena(), candidate_->In(Mode::kDeviceCold).name,
                                            Mode::kDeviceCold, batch, random());
    CalledProcess& runner = bout_.runners.Current();
    const CallResult call = runner.Call(command, bout_.step_limit());
    if (!std::holds_alternative<Reply>(call)) {
      return std::optional(runner.OutcomeOf(call, "a cold launch"));
    }
    found = TRY(unused.Find());
    auto outcome = TRY(candidate_->Inspect(batch, command.poison, Mode::kDeviceCold));
    if (outcome) return outcome;
  }
  if (found) return std::optional<Outcome>(*found);
  book().AddDetector(kName);
  return std::optional<Outcome>();
}

// Errors that come once in many launches show in many launches: a short kernel goes on, untimed,
// until enough outputs have been verified. Contents are drawn anew now and then, because an error may
// depend on them.
StepResult KernelContest::Close() {
  constexpr int kBatchesOfContents = 32;
  const std::vector<Sample> samples = candidate_->Samples(FirstMode());
  const bool is_short = !samples.empty() && samples.back().us < kShortLaunchUs;
  const double until = MonotonicSeconds() + kVerifySeconds;
  for (int batch = 0; is_certified() && is_short; ++batch) {
    if (book().outputs_verified() >= kCertifiedLaunches || MonotonicSeconds() > until) break;
    if (batch % kBatchesOfContents == 0) {
      TRY(arena().Renew(random(), false));
      book().ForgetContents();
    }
    if (auto outcome = TRY(candidate_->RunBatch({FirstMode()}, nullptr))) return outcome;
  }
  return std::optional<Outcome>();
}

}  // namespace

bool IsTimedOnTheWall(const Task& task, const std::string& baseline) {
  return baseline.starts_with("torch-") ||
         std::any_of(task.rivals.begin(), task.rivals.end(), [&](const Rival& rival) {
           return rival.name == baseline && rival.candidate.form == Form::kProgram;
         });
}

Result<Outcome> RunKernelContest(const ContestContext& context, Stage& stage, Runners& runners) {
  return KernelContest(context, stage, runners).Run();
}

}  // namespace warpsmith::judge
