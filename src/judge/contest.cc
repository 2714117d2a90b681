#include "judge/contest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/phase.h"
#include "judge/batch_command.h"
#include "judge/gpu_turns.h"
#include "judge/inspection.h"
#include "judge/resolved_task.h"
#include "judge/statistics.h"

namespace warpsmith::judge {
namespace {

constexpr std::string_view kTwinSuffix = "/again";

std::optional<Outcome> AsOutcome(std::optional<Incorrect> incorrect) {
  if (!incorrect) return std::nullopt;
  return *std::move(incorrect);
}

}  // namespace

bool Entrant::is_twin() const { return label_.ends_with(kTwinSuffix); }

std::vector<Sample> Entrant::Samples(Mode mode) const {
  const auto found = samples_.find(mode);
  return found == samples_.end() ? std::vector<Sample>() : found->second;
}

Sample Contest::WithTelemetry(Sample sample) const {
  if (context_.telemetry == nullptr) return sample;
  const cuda::Telemetry now = context_.telemetry->Read();
  sample.sm_mhz = static_cast<float>(now.sm_mhz);
  sample.temperature_c = static_cast<float>(now.temperature_c);
  sample.power_w = static_cast<float>(now.power_w);
  return sample;
}

Contest::Contest(const ContestContext& context, Processes processes)
    : context_(context),
      processes_(processes),
      planned_processes_(std::max(1, context.job->protocol.runner_processes)),
      modes_(context.job->protocol.modes),
      book_(context.arena->problem().allowed_bias) {
  if (processes == Processes::kShared) return;
  planned_processes_ = 1;
  modes_ = {Mode::kWall};
}

Result<Outcome> Contest::Run() {
  double begin = 0;
  for (int process = 0;; ++process) {
    if (auto outcome = TRY(Open(process))) return *outcome;
    // What the first Open does is no part of the time that the protocol asks for.
    if (process == 0) begin = MonotonicSeconds();
    if (auto outcome = TRY(RunRounds(process))) return *outcome;
    if (process + 1 >= planned_processes_ && HasEnough(MonotonicSeconds() - begin)) break;
  }
  if (auto outcome = TRY(Close())) return *outcome;
  return Outcome(TRY(Finish()));
}

Status Contest::AddBaselines() {
  const Phase phase("baselines");
  has_baselines_ = true;
  const size_t primary = entrants_.size();
  for (const std::string& name : job().task.baselines) {
    auto baseline = TRY(Baseline(name));
    if (baseline == nullptr) continue;
    Add(std::move(baseline));
    // A search asks about the primary baseline alone.
    if (!is_certified() && !job().protocol.every_baseline) return {};
  }
  if (!is_certified() || entrants_.size() == primary) return {};
  // The twin is the primary baseline once more, under another label. It has turns of its own, so
  // the ratio of the two shows how far two equal entrants come apart in this contest.
  for (const std::string& name : job().task.baselines) {
    auto twin = TRY(Baseline(name));
    if (twin == nullptr) continue;
    twin->label_ += kTwinSuffix;
    Add(std::move(twin));
    break;
  }
  return {};
}

Result<bool> Contest::RenewContents(int process) {
  if (!job().protocol.renew_contents) return false;
  // The check inputs are drawn once: only the first process runs them.
  TRY(arena().Renew(random(), process == 0));
  book_.ForgetContents();
  return true;
}

StepResult Contest::RunChecks() {
  const Phase phase("checks");
  std::vector<CheckReport> reports;
  for (const CheckContents& check : arena().checks()) {
    // An element that still holds the poison was not written. The poison is drawn anew for each
    // check, so that no candidate can prepare for it.
    const uint16_t poison = DrawPoison(random());
    TRY(arena().StageCheck(check));
    if (auto outcome = TRY(entrants_.front()->Check(check, poison))) return outcome;
    const Inspection inspection = TRY(InspectCheck(device(), arena(), check, poison));
    if (inspection.violation) {
      // The damage must not be found again and charged to the next job in this arena.
      TRY(arena().RefillGuards());
      return std::optional<Outcome>(*inspection.violation);
    }
    reports.push_back({check.input, inspection.outputs.front()});
    book_.AddDetector(DetectorName(check.input));
  }
  for (const char* detector : {"poison", "nan", "guards", "unmapped-page"}) {
    book_.AddDetector(detector);
  }
  for (const std::string_view detector : OwnDetectors()) book_.AddDetector(detector);
  if (arena().problem().allowed_bias > 0) book_.AddDetector("bias");
  return AsOutcome(book_.EnterChecks(reports));
}

// A process that all entrants share has its share of the rounds and of the time; a lone one goes on
// until the protocol has enough.
StepResult Contest::RunRounds(int process) {
  if (processes_ == Processes::kFreshEachTurn) return RunRound(process);
  const Protocol& protocol = job().protocol;
  const int share = (std::max(1, protocol.rounds) + planned_processes_ - 1) / planned_processes_;
  const double share_seconds = protocol.measure_seconds / planned_processes_;
  const double begin = MonotonicSeconds();
  for (int done = 1;; ++done) {
    auto outcome = TRY(RunRound(process));
    if (outcome) return outcome;
    const double seconds = MonotonicSeconds() - begin;
    if (done < share || seconds < share_seconds) continue;
    if (planned_processes_ > 1 || HasEnough(seconds)) return outcome;
  }
}

std::vector<Contest::Turn> Contest::TurnsOf(size_t first_entrant) const {
  const bool shared = processes_ == Processes::kShared;
  std::vector<Turn> turns;
  for (const Mode mode : modes_) {
    for (size_t entrant = first_entrant; entrant < entrants_.size(); ++entrant) {
      // A process of its own makes all of a round's samples in its one turn.
      for (int i = 0; i < (shared ? job().protocol.samples_per_round : 1); ++i) {
        turns.push_back({mode, entrant});
      }
    }
  }
  return turns;
}

StepResult Contest::RunRound(int process) {
  // A process that lives for several rounds must not find the same content at the same address
  // again. On the wall clock each burst moves the contents itself.
  if (processes_ == Processes::kShared) TRY(arena().Reassign(random()));
  book_.BeginRound();
  const Sample stamp{process, rounds_++};
  // All entrants have the same number of turns, in an order that no entrant can foresee. The
  // samples of one round are compared with each other only, so what drifts between rounds cancels.
  std::vector<Turn> turns = TurnsOf(0);
  random().Shuffle(turns);
  for (size_t i = 0; i < turns.size(); ++i) {
    if (auto outcome = TRY(RunTurn(turns[i], stamp))) return outcome;
    if (has_baselines_) continue;
    // The candidate goes first once, so that a wrong one costs no baseline.
    const size_t first_baseline = entrants_.size();
    TRY(AddBaselines());
    for (const Turn& turn : TurnsOf(first_baseline)) turns.push_back(turn);
  }
  return AsOutcome(book_.EndRound());
}

StepResult Contest::RunTurn(const Turn& turn, const Sample& stamp) {
  Entrant& entrant = *entrants_.at(turn.entrant);
  if (processes_ == Processes::kFreshEachTurn) {
    // A process of an earlier turn that could not be killed may still work on the GPU: what is
    // measured beside it is worth nothing.
    TRY(CheckNoSurvivors());
    const Phase phase(entrant.is_candidate() ? "start" : "baselines");
    if (auto outcome = TRY(entrant.Load())) return outcome;
    // The candidate must be right on every check input before any of its calls is timed.
    if (entrant.is_candidate() && stamp.process == 0) {
      if (auto outcome = TRY(RunChecks())) return outcome;
    }
  }
  const Phase phase(entrant.is_candidate() ? "bursts" : "baseline-bursts");
  return entrant.Measure(turn.mode, stamp);
}

bool Contest::HasEnough(double seconds) const {
  const Protocol& protocol = job().protocol;
  if (rounds_ < protocol.rounds || seconds < protocol.measure_seconds) return false;
  if (protocol.target_half_width <= 0 || rounds_ >= protocol.max_rounds) return true;
  const Mode mode = modes_.front();
  const std::vector<Sample> own = entrants_.front()->Samples(mode);
  if (entrants_.size() < 2) {
    return HalfWidth(EstimateOf(RoundMedians(own), protocol.confidence)) <=
           protocol.target_half_width;
  }
  // AddBaselines puts the primary baseline right behind the candidate.
  const auto ratios = PairedLogRatios(entrants_[1]->Samples(mode), own);
  return IsKnownWellEnough(EstimateOf(ratios, protocol.confidence), protocol);
}

Result<ModeTiming> Contest::TimingOf(Mode mode) const {
  const Protocol& protocol = job().protocol;
  ModeTiming timing;
  timing.mode = mode;
  const Mode bounded_as = mode == Mode::kWall ? Mode::kDeviceHot : mode;
  timing.roofline_us = TRY(RooflineUs(info(), job().task, job().workload, bounded_as));
  for (const auto& entrant : entrants_) {
    ContenderTiming one{entrant->label(), 0, {}, entrant->Samples(mode), entrant->gpu_busy_us()};
    Summarise(one, protocol.confidence);
    if (entrant->is_candidate()) {
      timing.candidate = std::move(one);
    } else {
      timing.baselines.push_back(std::move(one));
    }
  }
  for (const ContenderTiming& baseline : timing.baselines) {
    const bool is_twin = baseline.name.ends_with(kTwinSuffix);
    const ContenderTiming& other = is_twin ? timing.baselines.front() : timing.candidate;
    const Comparison comparison = Compare(baseline, other, protocol.confidence, protocol.band);
    if (is_twin) {
      timing.aa_noise = std::fabs(comparison.ratio - 1);
    } else {
      timing.comparisons.push_back(comparison);
    }
  }
  timing.below_roofline = timing.candidate.median_us < timing.roofline_us;
  return timing;
}

Result<Passed> Contest::Finish() const {
  Passed passed;
  passed.level = job().protocol.level;
  passed.correctness = book_.Finish(passed.level);
  if (context_.telemetry == nullptr) passed.correctness.absent.emplace_back("NVML: not available");
  Timing timing{job().workload.name, {}};
  for (const Mode mode : modes_) timing.modes.push_back(TRY(TimingOf(mode)));
  passed.timings.push_back(std::move(timing));
  return passed;
}

}  // namespace warpsmith::judge
