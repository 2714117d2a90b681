#include "judge/wall_entrant.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace warpsmith::judge {
namespace {

constexpr int kWarmUpCalls = 8;     // before a call's time is known
constexpr int kShareWarmingUp = 4;  // of a burst's calls, where candidates are only screened
constexpr int kMostTries = 8;       // bursts for one that is long enough
constexpr double kMostShareOfOracle = 0.9;
constexpr int kTracedCalls = 50;

}  // namespace

std::vector<Sample> WallEntrant::Samples(Mode mode) const {
  const bool is_known = IsOfTorch() || bout_.has_torch;
  const OracleCost cost =
      is_known ? bout_.context.kept->oracle.value_or(OracleCost()) : OracleCost();
  std::vector<Sample> net = Entrant::Samples(mode);
  for (size_t i = 0; i < net.size(); ++i) {
    net[i].us = static_cast<float>(NetUs(net[i].us, work_.at(i), cost, null_us_));
  }
  return net;
}

std::optional<Outcome> WallEntrant::DoubtShares() const {
  const std::vector<Sample> samples = Entrant::Samples(Mode::kWall);
  for (size_t i = 0; i < work_.size(); ++i) {
    const double share = OracleShare(samples.at(i).us, work_[i], *bout_.context.kept->oracle);
    if (share <= kMostShareOfOracle) continue;
    return Inconclusive{
        fmt::format("{}: {:.0f} % of a burst were the judge's own work", label(), 100 * share)};
  }
  return std::nullopt;
}

StepResult WallEntrant::WarmUp(CalledProcess& process) {
  const bool is_first = work_.empty();
  if (calls_ == 0) calls_ = kWarmUpCalls;
  // How long a call takes is not known yet, so these calls are few.
  if (is_first) {
    if (auto outcome = TRY(RunOne(process, calls_, nullptr))) return outcome;
  }
  const int share = bout_.contest.is_certified() ? 1 : kShareWarmingUp;
  return RunOne(process, std::max(kLeastBurstCalls, calls_ / share), nullptr);
}

StepResult WallEntrant::RunTimed(CalledProcess& process, const Sample& stamp) {
  for (int i = 0; i < std::max(1, bout_.contest.job().protocol.samples_per_round); ++i) {
    if (auto outcome = TRY(RunUntilLongEnough(process, stamp))) return outcome;
  }
  return std::optional<Outcome>();
}

StepResult WallEntrant::RunUntilLongEnough(CalledProcess& process, const Sample& stamp) {
  for (int i = 0; i < kMostTries; ++i) {
    if (auto outcome = TRY(RunOne(process, calls_, &stamp))) return outcome;
    if (!too_short_) return std::optional<Outcome>();
  }
  return std::optional<Outcome>(Inconclusive{
      fmt::format("{}: calls were so much faster than those just before them, {} times in a row, "
                  "that no burst was long enough to be timed",
                  label(), kMostTries)});
}

StepResult WallEntrant::RunOne(CalledProcess& process, int calls, const Sample* stamp) {
  const BurstCommand burst{callee_, calls, stamp == nullptr, false};
  const BurstResult result = TRY(RunBurst(bout_.Bench(), process, burst));
  if (result.failure) {
    return Failed(process, *result.failure, fmt::format("a burst of {} calls", calls));
  }
  if (auto outcome = TRY(JudgeBurst(result))) return outcome;
  // The oracle's own work is taken off as it was in this burst. A process that keeps the device
  // busy can make it longer but not shorter, and gains nothing by it: the count of calls grows.
  const double own_us = std::max(result.call_us - result.oracle_us, result.call_us / 20);
  // A program could be slow where calls are counted and quick where they are timed. Its burst would
  // then be short beside the oracle's work, and is not kept as a sample.
  too_short_ = stamp != nullptr && !IsLongEnough(own_us, calls);
  calls_ = CallsFor(own_us);
  TRY(AfterBurst(result.last));
  if (stamp == nullptr || too_short_) return std::optional<Outcome>();
  Sample sample = *stamp;
  sample.us = static_cast<float>(result.call_us);
  // Samples() pairs the two lists by index.
  Keep(Mode::kWall, bout_.contest.WithTelemetry(sample));
  work_.push_back(result.work);
  return std::optional<Outcome>();
}

Status WallEntrant::ReadActivity(CalledProcess& process) {
  const BurstCommand burst{callee_, std::min(calls_, kTracedCalls), true, true};
  const BurstResult result = TRY(RunBurst(bout_.Bench(), process, burst));
  gpu_busy_us_ = result.failure ? 0 : result.gpu_busy_us;
  return {};
}

Status WallEntrant::AfterBurst(const BatchPlan&) { return {}; }

StepResult WallEntrant::Failed(const CalledProcess& process, const CallResult& call,
                               const std::string& step) const {
  if (is_candidate()) return std::optional(process.OutcomeOf(call, step));
  return ErrorOfCall(call, fmt::format("{}: {}", label(), step));
}

// --- Verdicts.

StepResult WallEntrant::JudgeBurst(const BurstResult& result) {
  if (result.is_resident) {
    constexpr std::string_view kWhat =
        "kernels of its process were at work while it was stopped, between two bursts";
    if (is_candidate()) {
      return std::optional<Outcome>(Rejected{"resident-work", std::string(kWhat)});
    }
    return Error{ErrorCode::kInternal, fmt::format("baseline {}: {}", label(), kWhat),
                 "leave this baseline out of the task"};
  }
  if (!is_candidate()) {
    TRY(CheckBaseline(result));
    return std::optional<Outcome>();
  }
  if (result.verified.violation) return std::optional<Outcome>(*result.verified.violation);
  if (result.bad_look) return JudgeLook(*result.bad_look);
  for (size_t i = 0; i < result.last.timed.size(); ++i) {
    const OutputReport& report = result.verified.outputs.at(i);
    const int combination =
        bout_.contest.arena().plan().CombinationOf(result.last.timed[i].content);
    // The oracle read each output before the clock stopped (`looked`) and verified it afterwards.
    // An output that is right now, but was read differently, was written after its call had been
    // announced as done.
    if (report.wrong == 0 && report.content_hash != result.looked.at(i).content_hash) {
      return std::optional<Outcome>(
          Rejected{"late-write",
                   "an output changed after the last call of a burst had been announced as done"});
    }
    if (report.wrong > 0) {
      if (auto stale = FindStale(report, combination)) return stale;
    }
    auto wrong = bout_.contest.book().Enter(report, combination, "call of a burst");
    if (wrong) return std::optional<Outcome>(*std::move(wrong));
  }
  return std::optional<Outcome>();
}

std::optional<Outcome> WallEntrant::JudgeLook(const BadLook& look) const {
  if (look.right_later) {
    return Rejected{"late-write",
                    "a call was announced as done before its output was written; it was, later"};
  }
  if (look.report.poison == 0) {
    if (auto stale = FindStale(look.report, -1)) return stale;
  }
  return *Diagnose(look.report, "bound", "call of a burst, looked at when it had ended");
}

// The slot holds the right answer to another combination: an earlier call wrote it, and this call
// wrote nothing.
std::optional<Outcome> WallEntrant::FindStale(const OutputReport& report, int combination) const {
  if (!bout_.contest.book().IsAnswerToAnother(report.content_hash, combination)) {
    return std::nullopt;
  }
  return Incorrect{"poison", "an output still holds what an earlier call wrote there",
                   report.worst_error, report.worst_bound, report.worst_element};
}

Status WallEntrant::CheckBaseline(const BurstResult& result) const {
  const auto wrong = std::find_if(result.verified.outputs.begin(), result.verified.outputs.end(),
                                  [](const OutputReport& report) { return report.wrong > 0; });
  const bool right = !result.bad_look && wrong == result.verified.outputs.end();
  if (right && !result.verified.violation) return {};
  const OutputReport& report = result.bad_look ? result.bad_look->report : *wrong;
  const std::string what =
      right ? result.verified.violation->detail
            : fmt::format("{} elements off by up to {:.3g}", report.wrong, report.worst_error);
  return Error{ErrorCode::kInternal,
               fmt::format("baseline {} computed a wrong answer: {}", label(), what),
               "leave this baseline out of the task, or give the task a tolerance that fits it"};
}

}  // namespace warpsmith::judge
