#include "judge/program_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "core/program_shim.h"
#include "core/serialize.h"
#include "judge/batch_command.h"
#include "judge/gpu_turns.h"
#include "judge/program_sandbox.h"
#include "judge/roofline.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kStartLimit{120};
constexpr int kWarmUpCalls = 8;   // at most, before a call's time is known
constexpr int kNullCalls = 1000;  // at most, to measure the hand-over
constexpr int kMostTries = 8;     // bursts for one that is long enough
constexpr double kMostShareOfOracle = 0.9;
constexpr int kTracedCalls = 50;
constexpr char kPlanCallee[] = "plan";

}  // namespace

ProgramTrial::ProgramTrial(const ProgramContext& context) : context_(context) {
  Contender candidate;
  candidate.timing = {std::string(kCandidateName), true, {}, 0};
  candidate.artifact = &*context.trial.job->artifact;
  if (context.trial.job->candidate.form == Form::kKernel) candidate.callee = kPlanCallee;
  contenders_.push_back(std::move(candidate));
}

BurstBench ProgramTrial::Bench() const {
  return {context_.trial.device, context_.trial.arena, &job().task, context_.trial.random,
          std::chrono::milliseconds(job().protocol.step_timeout_ms)};
}

Result<Outcome> ProgramTrial::Run(Evidence& evidence) {
  TRY(arena().RefillGuards());
  if (job().protocol.renew_contents) TRY(arena().Renew(*context_.trial.random, true));
  const double begin = MonotonicSeconds();
  for (int round = 0;; ++round) {
    if (round > 0 && job().protocol.renew_contents) {
      TRY(arena().Renew(*context_.trial.random, false));
      answers_.ForgetContents();
    } else if (round > 0) {
      TRY(arena().RenewNearDuplicates(*context_.trial.random));
      answers_.ForgetContents();
    }
    answers_.BeginRound();
    // The candidate goes first once, so that a wrong one costs no baseline.
    std::vector<size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    context_.trial.random->Shuffle(order);
    for (size_t turn = 0; turn < order.size(); ++turn) {
      Contender& contender = contenders_[order[turn]];
      TRY(NobodyLeftBehind());  // of the turns before
      const StepResult step = contender.kind == Kind::kTorch ? RunTorch(contender, round)
                                                             : RunProgram(contender, round);
      evidence.sandbox = sandbox_;
      if (!step.ok()) return step.error();
      if (*step) return **step;
      if (round > 0 || turn > 0 || baselines_added_) continue;
      TRY(AddBaselines());
      for (size_t i = 1; i < contenders_.size(); ++i) order.push_back(i);
    }
    correctness_.max_deviation.push_back(answers_.round_deviation());
    if (auto outcome = Biased()) return *outcome;
    if (Enough(round + 1, MonotonicSeconds() - begin)) break;
  }
  if (auto outcome = TRY(ReconsiderTorch())) return *outcome;
  if (auto outcome = MostlyOracle()) return *outcome;
  if (context_.kept->process != nullptr) {
    evidence.baseline_library = context_.kept->process->started().text;
    if (context_.kept->choice) evidence.baseline_choice = context_.kept->choice->Text();
    if (certified()) TRY(TraceTorch());
  }
  return Outcome(TRY(Finish()));
}

// --- The contenders.

Status ProgramTrial::AddBaselines() {
  baselines_added_ = true;
  for (const std::string& name : job().task.baselines) {
    contenders_.push_back(TRY(Baseline(name)));
    if (!certified() && !job().protocol.every_baseline) return {};  // a search: the bar alone
  }
  if (certified() && contenders_.size() > 1) {
    Contender again = contenders_[1];
    again.timing.label += kAgainSuffix;
    contenders_.push_back(std::move(again));
  }
  return {};
}

Result<ProgramTrial::Contender> ProgramTrial::Baseline(const std::string& name) {
  Contender contender;
  contender.timing.label = name;
  for (const Rival& rival : job().task.rivals) {
    if (rival.name != name) continue;
    if (rival.candidate.form != Form::kProgram) {
      return Error{ErrorCode::kBadInput,
                   fmt::format("rival {} is no program: programs are compared with programs on "
                               "the wall clock, kernels with kernels on the device's",
                               name),
                   "give the rival as a program, or judge candidates of form kernel"};
    }
    const auto& artifact = rivals_.emplace(name, TRY(context_.compile(rival.candidate))).first;
    contender.kind = Kind::kRival;
    contender.artifact = &artifact->second;
    return contender;
  }
  contender.kind = Kind::kTorch;
  if (name == "torch-eager" || name == "torch-compile") {
    contender.callee = name.substr(name.find('-') + 1);
  } else if (name == "torch-best") {
    contender.callee = TRY(BestOfTorch());
    contender.timing.label += " (" + contender.callee + ")";
  } else {
    return Error{
        ErrorCode::kBadInput,
        fmt::format("task {}: baseline {} cannot be compared with programs", job().task.name, name),
        "use torch-eager, torch-compile, torch-best or a rival's name"};
  }
  return contender;
}

StepResult ProgramTrial::Failed(const Contender& contender, const PeerCallResult& call,
                                const std::string& step) const {
  if (contender.kind == Kind::kCandidate) return std::optional(OutcomeOfPeer(call, step));
  return ErrorOfPeer(call, fmt::format("{}: {}", contender.timing.label, step));
}

StepResult ProgramTrial::RunProgram(Contender& contender, int round) {
  PeerOptions options = context_.program;
  options.start.hidden = HiddenLibraries(job().task.allow);
  const std::unique_ptr<PeerProcess> peer = TRY(PeerProcess::Start(options));
  TRY(peer->AwaitReady(kStartLimit));
  if (contender.kind == Kind::kCandidate) sandbox_ = peer->started().sandbox;
  if (auto outcome = TRY(Enter(contender, *peer, round))) return outcome;
  return RunBursts(contender, *peer, round);
}

// The library comes before the arena: what runs while it is loaded finds no buffers.
StepResult ProgramTrial::Enter(Contender& contender, PeerProcess& peer, int round) {
  const BurstBench bench = Bench();
  const bool is_plan = contender.callee == kPlanCallee;
  const std::string entry = is_plan ? ToJson(job().candidate.plan).dump() : kProgramEntry;
  const PeerCallResult loaded =
      peer.Call(PeerLoad{contender.callee, entry}, bench.step_limit, contender.artifact->image);
  if (!std::holds_alternative<PeerReply>(loaded)) {
    return Failed(contender, loaded, "loading the program");
  }
  const PeerCallResult mapped = TRY(MapArenaIn(bench, job().workload, peer, bench.step_limit));
  if (!std::holds_alternative<PeerReply>(mapped)) {
    return Failed(contender, mapped, "mapping the arena");
  }
  if (contender.kind == Kind::kCandidate && round == 0) {
    if (auto outcome = TRY(RunChecks(contender, peer))) return outcome;
  }
  peer.Pause();
  return std::optional<Outcome>();
}

StepResult ProgramTrial::RunChecks(Contender& contender, PeerProcess& peer) {
  const BurstBench bench = Bench();
  const Problem& problem = arena().problem();
  std::vector<CheckReport> reports;
  for (const CheckContents& check : arena().checks()) {
    const uint16_t poison = DrawPoison(*bench.random);
    TRY(arena().StageCheck(check));
    for (size_t role = problem.inputs.size(); role < problem.Roles(); ++role) {
      TRY(bench.device->kernels().RunPoison(arena().exact(role), poison, bench.device->stream()));
    }
    TRY(bench.device->Synchronize());
    const double begin = MonotonicSeconds();
    const PeerCallResult call = peer.Call(PeerCheck{contender.callee}, bench.step_limit);
    contender.calls = std::min(kWarmUpCalls, CallsFor((MonotonicSeconds() - begin) * 1e6));
    const std::string step = fmt::format("check call '{}'", DetectorName(check.input));
    if (!std::holds_alternative<PeerReply>(call)) return Failed(contender, call, step);
    const Inspection inspection = TRY(InspectCheck(*bench.device, arena(), check, poison));
    if (inspection.violation) return std::optional<Outcome>(*inspection.violation);
    reports.push_back({check.input, inspection.outputs.front()});
    correctness_.detectors.emplace_back(DetectorName(check.input));
    ++correctness_.outputs_verified;
  }
  for (const char* detector :
       {"poison", "nan", "guards", "unmapped-page", "late-write", "resident-work"}) {
    correctness_.detectors.emplace_back(detector);
  }
  if (arena().problem().allowed_bias > 0) correctness_.detectors.emplace_back("bias");
  if (auto incorrect = DiagnoseChecks(reports)) return std::optional<Outcome>(*incorrect);
  correctness_.max_deviation.push_back(reports.front().output.max_deviation);
  answers_.EnterCheck(reports.front().output);
  for (const CheckReport& report : reports) {
    correctness_.worst_bound_fraction =
        std::max(correctness_.worst_bound_fraction, report.output.worst_fraction);
  }
  return Biased();
}

std::optional<Outcome> ProgramTrial::Biased() const {
  if (auto biased = DiagnoseBias(answers_.bias(), arena().problem().allowed_bias)) {
    return *biased;
  }
  return std::nullopt;
}

// --- Bursts.

StepResult ProgramTrial::RunBursts(Contender& contender, PeerProcess& peer, int round) {
  const bool first = contender.timing.samples.empty();
  if (contender.calls == 0) contender.calls = kWarmUpCalls;
  // The first burst is short, since nobody knows yet how long a call takes.
  for (int i = 0; i < (first ? 2 : 1); ++i) {
    if (auto outcome = TRY(RunOne(contender, peer, nullptr))) return outcome;
  }
  // Programs answer by the same code: what it costs is in all their times.
  if (contender.kind == Kind::kTorch) {
    double& null_us = context_.kept->null_us[contender.callee];
    if (null_us == 0) {
      const NullCost cost =
          TRY(MeasureNullCost(Bench(), peer, std::min(contender.calls, kNullCalls)));
      if (cost.failure) return Failed(contender, *cost.failure, "measuring the hand-over");
      null_us = cost.call_us;
    }
    contender.null_us = null_us;  // the same for all turns of a callee, A/A too
  }
  for (int i = 0; i < std::max(1, job().protocol.samples_per_round); ++i) {
    if (auto outcome = TRY(RunTimed(contender, peer, {round, round}))) return outcome;
  }
  const bool ends_here = contender.kind != Kind::kTorch;  // PyTorch's goes on: TraceTorch
  if (certified() && ends_here && contender.timing.gpu_busy_us == 0) {
    TRY(ReadActivity(contender, peer));
  }
  return std::optional<Outcome>();
}

StepResult ProgramTrial::RunTimed(Contender& contender, PeerProcess& peer, const Sample& stamp) {
  for (int i = 0; i < kMostTries; ++i) {
    if (auto outcome = TRY(RunOne(contender, peer, &stamp))) return outcome;
    if (!contender.too_short) return std::optional<Outcome>();
  }
  return std::optional<Outcome>(Inconclusive{
      fmt::format("{}: calls were so much faster than those just before them, {} times in a row, "
                  "that no burst was long enough to be timed",
                  contender.timing.label, kMostTries)});
}

StepResult ProgramTrial::RunOne(Contender& contender, PeerProcess& peer, const Sample* stamp) {
  const PeerBurst burst{contender.callee, contender.calls, stamp == nullptr, false};
  const BurstResult result = TRY(RunBurst(Bench(), peer, burst));
  if (result.is_resident) return Resident(contender);
  const std::string step = fmt::format("a burst of {} calls", contender.calls);
  if (result.failure) return Failed(contender, *result.failure, step);
  if (contender.kind != Kind::kCandidate) {
    TRY(CheckBaseline(contender, result));
  } else if (result.verified.violation) {
    return std::optional<Outcome>(*result.verified.violation);
  } else if (result.bad_look) {
    return JudgeLook(*result.bad_look);
  } else if (auto outcome = JudgeBurst(result)) {
    return outcome;
  }
  // What the oracle took this time, which a contender can lengthen but not shorten.
  const double own_us = std::max(result.call_us - result.oracle_us, result.call_us / 20);
  contender.too_short = stamp != nullptr && !IsLongEnough(own_us, contender.calls);
  contender.calls = CallsFor(own_us);
  if (contender.kind == Kind::kTorch) TRY(MeasureOracle(result.last));
  if (stamp == nullptr || contender.too_short) return std::optional<Outcome>();
  Sample sample = *stamp;
  sample.us = static_cast<float>(result.call_us);
  if (context_.trial.telemetry != nullptr) {
    const cuda::Telemetry now = context_.trial.telemetry->Read();
    sample.sm_mhz = static_cast<float>(now.sm_mhz);
    sample.temperature_c = static_cast<float>(now.temperature_c);
    sample.power_w = static_cast<float>(now.power_w);
  }
  contender.timing.samples.push_back(sample);
  contender.work.push_back(result.work);
  return std::optional<Outcome>();
}

StepResult ProgramTrial::Resident(const Contender& contender) const {
  constexpr std::string_view kWhat =
      "kernels of its process were at work while it was stopped, between two bursts";
  if (contender.kind == Kind::kCandidate) {
    return std::optional<Outcome>(Rejected{"resident-work", std::string(kWhat)});
  }
  return Error{ErrorCode::kInternal, fmt::format("baseline {}: {}", contender.timing.label, kWhat),
               "leave this baseline out of the task"};
}

// Advice from the contender's own process: nothing depends on it. Tracing ends a process's use for
// timing, so it comes last.
Status ProgramTrial::ReadActivity(Contender& contender, PeerProcess& peer) {
  const PeerBurst burst{contender.callee, std::min(contender.calls, kTracedCalls), true, true};
  const BurstResult result = TRY(RunBurst(Bench(), peer, burst));
  contender.timing.gpu_busy_us = result.failure ? 0 : result.gpu_busy_us;
  return {};
}

// --- Verdicts.

std::optional<Outcome> ProgramTrial::JudgeLook(const BadLook& look) const {
  if (look.right_later) {
    return Rejected{"late-write",
                    "a call was announced as done before its output was written; it was, later"};
  }
  if (look.report.poison == 0) {
    if (auto stale = Stale(look.report, -1)) return stale;
  }
  return *Diagnose(look.report, "bound", "call of a burst, looked at when it had ended");
}

// What another call wrote there before: this one wrote nothing.
std::optional<Outcome> ProgramTrial::Stale(const OutputReport& report, int combination) const {
  if (!answers_.IsAnswerToAnother(report.content_hash, combination)) return std::nullopt;
  return Incorrect{"poison", "an output still holds what an earlier call wrote there",
                   report.worst_error, report.worst_bound, report.worst_element};
}

std::optional<Outcome> ProgramTrial::JudgeBurst(const BurstResult& result) {
  for (size_t i = 0; i < result.last.timed.size(); ++i) {
    const OutputReport& report = result.verified.outputs.at(i);
    const int combination = arena().plan().CombinationOf(result.last.timed[i].content);
    if (report.wrong == 0 && report.content_hash != result.looked.at(i).content_hash) {
      return Rejected{
          "late-write",
          "an output changed after the last call of a burst had been announced as done"};
    }
    if (report.wrong > 0) {
      if (auto stale = Stale(report, combination)) return stale;
    }
    if (auto wrong = answers_.Enter(report, combination, "call of a burst", correctness_)) {
      return *wrong;
    }
  }
  return std::nullopt;
}

Status ProgramTrial::CheckBaseline(const Contender& contender, const BurstResult& result) const {
  const auto wrong = std::find_if(result.verified.outputs.begin(), result.verified.outputs.end(),
                                  [](const OutputReport& report) { return report.wrong > 0; });
  const bool right = !result.bad_look && wrong == result.verified.outputs.end();
  if (right && !result.verified.violation) return {};
  const OutputReport& report = result.bad_look ? result.bad_look->report : *wrong;
  const std::string what =
      right ? result.verified.violation->detail
            : fmt::format("{} elements off by up to {:.3g}", report.wrong, report.worst_error);
  return Error{ErrorCode::kInternal,
               fmt::format("baseline {} computed a wrong answer: {}", contender.timing.label, what),
               "leave this baseline out of the task, or give the task a tolerance that fits it"};
}

bool ProgramTrial::Enough(int rounds, double seconds) const {
  const Protocol& protocol = job().protocol;
  if (rounds < protocol.rounds || seconds < protocol.measure_seconds) return false;
  if (protocol.target_half_width <= 0 || rounds >= protocol.max_rounds) return true;
  return HalfWidthOf(NetTimes(), protocol.confidence) <= protocol.target_half_width;
}

bool ProgramTrial::HasTorch() const {
  return std::ranges::any_of(contenders_, [](const auto& one) { return one.kind == Kind::kTorch; });
}

ContenderSamples ProgramTrial::NetTimes(const Contender& contender) const {
  const bool is_known = contender.kind == Kind::kTorch || HasTorch();
  const OracleCost cost = is_known ? context_.kept->oracle.value_or(OracleCost()) : OracleCost();
  ContenderSamples net = contender.timing;
  for (size_t i = 0; i < net.samples.size(); ++i) {
    float& us = net.samples[i].us;
    us = static_cast<float>(NetUs(us, contender.work.at(i), cost, contender.null_us));
  }
  return net;
}

std::optional<Outcome> ProgramTrial::MostlyOracle() const {
  if (!HasTorch() || !context_.kept->oracle) return std::nullopt;
  for (const Contender& contender : contenders_) {
    for (size_t i = 0; i < contender.work.size(); ++i) {
      const double us = contender.timing.samples.at(i).us;
      const double share = OracleShare(us, contender.work[i], *context_.kept->oracle);
      if (share <= kMostShareOfOracle) continue;
      return Inconclusive{fmt::format("{}: {:.0f} % of a burst were the judge's own work",
                                      contender.timing.label, 100 * share)};
    }
  }
  return std::nullopt;
}

std::vector<ContenderSamples> ProgramTrial::NetTimes() const {
  std::vector<ContenderSamples> all;
  for (const Contender& contender : contenders_) all.push_back(NetTimes(contender));
  return all;
}

Result<Passed> ProgramTrial::Finish() const {
  Passed passed;
  passed.level = job().protocol.level;
  passed.correctness = correctness_;
  passed.correctness.bias = BiasOf(answers_.bias(), arena().problem().allowed_bias);
  if (certified()) {
    passed.correctness.rare_errors = RareErrorsCaughtBy(correctness_.outputs_verified);
  }
  if (context_.trial.telemetry == nullptr) {
    passed.correctness.absent.emplace_back("NVML: not available");
  }
  const double roofline_us =
      TRY(RooflineUs(*context_.trial.info, job().task, job().workload, Mode::kDeviceHot));
  passed.timings.push_back(
      {job().workload.name, {TimingOf(Mode::kWall, roofline_us, NetTimes(), job().protocol)}});
  return passed;
}

}  // namespace warpsmith::judge
