#include "judge/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "judge/batch_command.h"
#include "judge/contender.h"
#include "judge/roofline.h"
#include "judge/statistics.h"
#include "judge/unused_slots.h"

namespace warpsmith::judge {
namespace {

constexpr std::string_view kAgain = "/again";
constexpr std::string_view kBehindAProducer =
    "; it is launched programmatically, and ran behind a kernel that writes the inputs late: does "
    "it wait for them (griddepcontrol.wait) before it reads any?";

// A batch of about this long is enough, however many launches the arena has room for.
constexpr double kLongBatchUs = 20'000;

int MostTimed(double launch_us) {
  return static_cast<int>(std::clamp(kLongBatchUs / std::max(launch_us, 1.0), 1.0, 4096.0));
}

std::chrono::milliseconds StepLimit(const Job& job) {
  return std::chrono::milliseconds(job.protocol.step_timeout_ms);
}

bool IsAgain(const std::string& label) { return label.ends_with(kAgain); }

}  // namespace

Trial::Trial(const TrialContext& context, std::vector<ContenderSpec> contenders)
    : context_(context), contenders_(std::move(contenders)) {
  for (Mode mode : context_.job->protocol.modes) samples_[mode].resize(contenders_.size());
}

StepResult Trial::RunChecks(RunnerProcess& runner) {
  std::vector<CheckReport> reports;
  for (const CheckContents& check : context_.arena->checks()) {
    const std::string step = fmt::format("check launch '{}'", DetectorName(check.input));
    const uint16_t poison = DrawPoison(*context_.random);
    TRY(context_.arena->StageCheck(check));
    const CallResult call =
        runner.Call(CheckCommand{std::string(kCandidateName), poison}, StepLimit(*context_.job));
    if (!std::holds_alternative<Reply>(call)) return std::optional(OutcomeOfCall(call, step));
    const Inspection inspection =
        TRY(InspectCheck(*context_.device, *context_.arena, check, poison));
    if (inspection.violation) {
      TRY(context_.arena->RefillGuards());
      return std::optional<Outcome>(*inspection.violation);
    }
    reports.push_back({check.input, inspection.outputs.front()});
    correctness_.detectors.emplace_back(DetectorName(check.input));
    ++correctness_.outputs_verified;
  }
  for (const char* detector : {"poison", "nan", "guards", "unmapped-page"}) {
    correctness_.detectors.emplace_back(detector);
  }
  if (context_.arena->problem().allowed_bias > 0) correctness_.detectors.emplace_back("bias");
  const bool begins_early = BeginsEarly(context_.job->candidate.plan);
  if (begins_early) correctness_.detectors.emplace_back("late-inputs");
  if (auto incorrect = DiagnoseChecks(reports)) {
    if (begins_early) incorrect->detail += kBehindAProducer;
    return std::optional<Outcome>(*incorrect);
  }
  for (const CheckReport& report : reports) {
    if (report.input == CheckInput::kNormal) {
      correctness_.max_deviation.push_back(report.output.max_deviation);
      answers_.EnterCheck(report.output);
    }
    correctness_.worst_bound_fraction =
        std::max(correctness_.worst_bound_fraction, report.output.worst_fraction);
  }
  return Biased();
}

std::optional<Outcome> Trial::Biased() const {
  const double allowed = context_.arena->problem().allowed_bias;
  if (auto biased = DiagnoseBias(answers_.bias(), allowed)) return *biased;
  return std::nullopt;
}

StepResult Trial::WarmUp(RunnerProcess& runner, double seconds) {
  const int64_t until_ns = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  do {
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (IsAgain(contenders_[i].label)) continue;
      const Turn turn{context_.job->protocol.modes.front(), i};
      auto outcome = TRY(RunBatch(runner, turn, nullptr, {}));
      if (outcome) return outcome;
    }
    // Among the timed launches' own slots, where nothing looks like a check.
    if (!BeginsEarly(context_.job->candidate.plan)) continue;
    auto outcome =
        TRY(RunBatch(runner, {context_.job->protocol.modes.front(), 0, true}, nullptr, {}));
    if (!outcome) continue;
    if (auto* incorrect = std::get_if<Incorrect>(&*outcome)) incorrect->detail += kBehindAProducer;
    return outcome;
  } while (MonotonicNs() < until_ns);
  return std::optional<Outcome>();
}

StepResult Trial::RunRound(RunnerProcess& runner, int process, int round) {
  TRY(context_.arena->Reassign(*context_.random));
  answers_.BeginRound();
  std::vector<Turn> turns;
  for (Mode mode : context_.job->protocol.modes) {
    for (size_t contender = 0; contender < contenders_.size(); ++contender) {
      for (int i = 0; i < context_.job->protocol.samples_per_round; ++i) {
        turns.push_back({mode, contender});
      }
    }
  }
  context_.random->Shuffle(turns);
  const Sample stamp{process, round};
  for (const Turn& turn : turns) {
    auto outcome = TRY(RunBatch(runner, turn, &samples_.at(turn.mode).at(turn.contender), stamp));
    if (outcome) return outcome;
  }
  correctness_.max_deviation.push_back(answers_.round_deviation());
  return Biased();
}

StepResult Trial::VerifyMore(RunnerProcess& runner, int64_t launches, double seconds) {
  constexpr double kShortUs = 50;
  constexpr int kBatchesOfAnAssignment = 32;
  const Mode mode = context_.job->protocol.modes.front();
  const std::vector<Sample>& samples = samples_.at(mode).front();
  const bool is_short = !samples.empty() && samples.back().us < kShortUs;
  const double until = MonotonicSeconds() + seconds;
  for (int batch = 0; is_short && correctness_.outputs_verified < launches; ++batch) {
    if (MonotonicSeconds() > until) break;
    if (batch % kBatchesOfAnAssignment == 0) TRY(context_.arena->Reassign(*context_.random));
    if (auto outcome = TRY(RunBatch(runner, {mode, 0}, nullptr, {}))) return outcome;
  }
  return std::optional<Outcome>();
}

StepResult Trial::RunSideChecks(RunnerProcess& runner) {
  auto outcome = TRY(RunCrowded(runner));
  const auto& modes = context_.job->protocol.modes;
  const bool is_cold = std::find(modes.begin(), modes.end(), Mode::kDeviceCold) != modes.end();
  if (outcome || !is_cold) return outcome;
  return ProbeUnusedSlots(runner);
}

StepResult Trial::RunCrowded(RunnerProcess& runner) {
  constexpr std::string_view kWhat =
      "; its blocks began one after another, while most of the SMs were taken: does one of them "
      "read what another writes, without waiting for it?";
  for (const int free_sms : {1, 2, 3, 5, 17}) {
    auto outcome = TRY(RunBatch(runner, {Mode::kDeviceCold, 0, false, free_sms}, nullptr, {}));
    if (!outcome) continue;
    if (auto* incorrect = std::get_if<Incorrect>(&*outcome)) incorrect->detail += kWhat;
    return outcome;
  }
  correctness_.detectors.emplace_back("crowded");
  return std::optional<Outcome>();
}

// Found once it is looked for again: a line more or less is chance.
StepResult Trial::ProbeUnusedSlots(RunnerProcess& runner) {
  constexpr std::string_view kName = "touches-other-slots";
  std::optional<Rejected> found;
  for (int tries = 0; tries < 2 && (tries == 0 || found); ++tries) {
    const BatchPlan batch = PlanBatch(context_.arena->plan(), Mode::kDeviceCold,
                                      context_.arena->assignments(), 1, *context_.random);
    TRY(context_.arena->EnsureReferences(batch));
    UnusedSlots unused(*context_.device, *context_.arena, batch);
    if (!TRY(unused.Prepare())) {
      correctness_.absent.emplace_back(
          fmt::format("{}: the inputs are too small, or L2 is not told from memory", kName));
      return std::optional<Outcome>();
    }
    const Callee& callee = contenders_.front().In(Mode::kDeviceCold);
    const SampleCommand command =
        CommandOf(*context_.arena, callee.name, Mode::kDeviceCold, batch, *context_.random);
    const CallResult call = runner.Call(command, StepLimit(*context_.job));
    if (!std::holds_alternative<Reply>(call)) {
      return std::optional(OutcomeOfCall(call, "a cold launch"));
    }
    found = TRY(unused.Find());
    auto outcome = TRY(Inspect(contenders_.front(), batch, command.poison, Mode::kDeviceCold));
    if (outcome) return outcome;
  }
  if (found) return std::optional<Outcome>(*found);
  correctness_.detectors.emplace_back(kName);
  return std::optional<Outcome>();
}

// Crossed problems' launches are as long as their floor says; others may take any time, so the
// first batch, the warm-up, is of one launch.
int Trial::MostTimedOf(const Callee& callee) const {
  if (context_.arena->plan().crossed) return context_.arena->plan().timed_launches;
  const auto known = most_timed_.find(callee.name);
  return known == most_timed_.end() ? 1 : known->second;
}

StepResult Trial::RunBatch(RunnerProcess& runner, const Turn& turn, std::vector<Sample>* samples,
                           const Sample& stamp) {
  const ContenderSpec& contender = contenders_.at(turn.contender);
  const Callee& callee = contender.In(turn.mode);
  const BatchPlan batch =
      PlanBatch(context_.arena->plan(), turn.mode, context_.arena->assignments(),
                MostTimedOf(callee), *context_.random);
  TRY(context_.arena->EnsureReferences(batch));
  SampleCommand command =
      CommandOf(*context_.arena, callee.name, turn.mode, batch, *context_.random);
  command.late_inputs = turn.late_inputs;
  command.free_sms = turn.free_sms;
  const CallResult call = runner.Call(command, StepLimit(*context_.job));
  const std::string step = fmt::format("timed batch ({}) of {}", Name(turn.mode), contender.label);
  const auto* reply = std::get_if<Reply>(&call);
  if (reply == nullptr) {
    if (contender.is_candidate) return std::optional(OutcomeOfCall(call, step));
    return ErrorOfCall(call, step);
  }
  Sample sample = stamp;
  if (context_.telemetry != nullptr) {
    const cuda::Telemetry now = context_.telemetry->Read();
    sample.sm_mhz = static_cast<float>(now.sm_mhz);
    sample.temperature_c = static_cast<float>(now.temperature_c);
    sample.power_w = static_cast<float>(now.power_w);
  }
  auto outcome = TRY(Inspect(contender, batch, command.poison, turn.mode));
  if (outcome) return outcome;
  const double launch_us = reply->elapsed_us.empty() ? 0 : reply->elapsed_us.front();
  if (!turn.late_inputs && turn.free_sms == 0) most_timed_[callee.name] = MostTimed(launch_us);
  if (samples == nullptr) return outcome;
  for (double us : reply->elapsed_us) {
    sample.us = static_cast<float>(us);
    samples->push_back(sample);
  }
  return std::optional<Outcome>();
}

StepResult Trial::Inspect(const ContenderSpec& contender, const BatchPlan& batch, uint16_t poison,
                          Mode mode) {
  const bool same_product = contender.In(mode).same_product;
  const Detail detail = same_product ? Detail::kWorstElement : Detail::kCountsOnly;
  const Inspection inspection =
      TRY(InspectBatch(*context_.device, *context_.arena, batch, poison, detail));
  if (inspection.violation) return std::optional<Outcome>(*inspection.violation);
  if (!contender.is_candidate) return InspectBaseline(contender, mode, inspection);
  return InspectCandidate(batch, inspection, mode);
}

StepResult Trial::InspectBaseline(const ContenderSpec& contender, Mode mode,
                                  const Inspection& inspection) const {
  const bool same_product = contender.In(mode).same_product;
  for (const OutputReport& report : inspection.outputs) {
    const bool off = same_product ? report.wrong > 0 : report.poison > 0;
    if (!off) continue;
    return Error{ErrorCode::kInternal,
                 fmt::format("baseline {} computed a wrong product: {} elements off, {} unwritten",
                             contender.label, report.wrong, report.poison),
                 "leave this baseline out of the task"};
  }
  return std::optional<Outcome>();
}

std::optional<Outcome> Trial::InspectCandidate(const BatchPlan& batch, const Inspection& inspection,
                                               Mode mode) {
  for (size_t i = 0; i < inspection.outputs.size(); ++i) {
    const bool touch = i < batch.touch.size();
    const PlannedLaunch& launch = touch ? batch.touch[i] : batch.timed[i - batch.touch.size()];
    const OutputReport& report = inspection.outputs[i];
    const int combination = context_.arena->plan().CombinationOf(launch.content);
    const std::string where =
        fmt::format("{} launch of a batch ({})", touch ? "touch" : "timed", Name(mode));
    if (auto wrong = answers_.Enter(report, combination, where, correctness_)) return *wrong;
  }
  return std::nullopt;
}

bool Trial::Enough(int rounds, double seconds) const {
  const Protocol& protocol = context_.job->protocol;
  if (rounds < protocol.rounds || seconds < protocol.measure_seconds) return false;
  return protocol.target_half_width <= 0 || rounds >= protocol.max_rounds ||
         PrimaryHalfWidth() <= protocol.target_half_width;
}

double Trial::PrimaryHalfWidth() const {
  const auto& samples = samples_.at(context_.job->protocol.modes.front());
  const double confidence = context_.job->protocol.confidence;
  const size_t candidate = 0;
  if (contenders_.size() < 2) {
    return HalfWidth(EstimateOf(RoundMedians(samples[candidate]), confidence));
  }
  return HalfWidth(EstimateOf(PairedLogRatios(samples[1], samples[candidate]), confidence));
}

Result<ModeTiming> Trial::TimingOf(Mode mode) const {
  const Job& job = *context_.job;
  const auto& samples = samples_.at(mode);
  ModeTiming timing;
  timing.mode = mode;
  timing.roofline_us = TRY(RooflineUs(*context_.info, job.task, job.workload, mode));
  for (size_t i = 0; i < contenders_.size(); ++i) {
    ContenderTiming contender{contenders_[i].label, 0, {}, samples[i]};
    Summarise(contender, job.protocol.confidence);
    if (contenders_[i].is_candidate) {
      timing.candidate = std::move(contender);
    } else {
      timing.baselines.push_back(std::move(contender));
    }
  }
  for (const ContenderTiming& baseline : timing.baselines) {
    const Comparison comparison =
        Compare(baseline, IsAgain(baseline.name) ? timing.baselines.front() : timing.candidate,
                job.protocol.confidence, job.protocol.band);
    if (IsAgain(baseline.name)) {
      timing.aa_noise = std::fabs(comparison.ratio - 1);
    } else {
      timing.comparisons.push_back(comparison);
    }
  }
  timing.below_roofline = timing.candidate.median_us < timing.roofline_us;
  return timing;
}

Result<Passed> Trial::Finish() {
  Passed passed;
  passed.level = context_.job->protocol.level;
  passed.correctness = correctness_;
  passed.correctness.bias = BiasOf(answers_.bias(), context_.arena->problem().allowed_bias);
  if (passed.level == Level::kCertified) {
    passed.correctness.rare_errors = RareErrorsCaughtBy(correctness_.outputs_verified);
  }
  if (context_.telemetry == nullptr) passed.correctness.absent.emplace_back("NVML: not available");
  Timing timing{context_.job->workload.name, {}};
  for (Mode mode : context_.job->protocol.modes) timing.modes.push_back(TRY(TimingOf(mode)));
  passed.timings.push_back(std::move(timing));
  return passed;
}

}  // namespace warpsmith::judge
