#include "our_judge.h"

#include <algorithm>
#include <chrono>

#include "core/program_shim.h"

namespace warpsmith::attacks {
namespace {

constexpr int64_t kStepLimitMs = 8'000;
constexpr std::chrono::seconds kPatience{120};           // for one verdict
constexpr std::chrono::seconds kServersPatience{1'800};  // where all attacks stand in its line

struct Words {
  std::string operator()(const CompileFailed& o) const {
    return o.timed_out ? "timed-out:compile" : "compile-failed";
  }
  std::string operator()(const Rejected& o) const { return "rejected:" + o.rule; }
  std::string operator()(const RunFailed& o) const { return "run-failed:" + o.code; }
  std::string operator()(const TimedOut& o) const { return "timed-out:" + o.step; }
  std::string operator()(const Incorrect& o) const { return "incorrect:" + o.detector; }
  std::string operator()(const Inconclusive& o) const { return "inconclusive:" + o.reason; }
  std::string operator()(const Passed& o) const {
    for (const Timing& timing : o.timings) {
      const auto below = [](const ModeTiming& mode) { return mode.below_roofline; };
      if (std::any_of(timing.modes.begin(), timing.modes.end(), below)) return "passed:below-floor";
    }
    return "passed";
  }
};

OurVerdict VerdictOf(const Outcome& outcome) {
  OurVerdict verdict{WordOf(outcome), Describe(outcome), {}, 0};
  const auto* passed = std::get_if<Passed>(&outcome);
  if (passed == nullptr || passed->timings.empty()) return verdict;
  const std::vector<ModeTiming>& modes = passed->timings.front().modes;
  for (const ModeTiming& mode : modes) verdict.us.push_back(mode.candidate.median_us);
  if (!modes.empty() && !modes.front().comparisons.empty()) {
    verdict.ratio = modes.front().comparisons.front().ratio;
  }
  return verdict;
}

Result<Verdict> JudgeOne(const Job& job, Device& device) {
  TRY(device.Submit({job}));
  const auto deadline = std::chrono::steady_clock::now() +
                        (device.Info().needs_artifacts ? kPatience : kServersPatience);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::vector<Completed> done = TRY(device.Collect(std::chrono::seconds(1)));
    for (const Completed& one : done) {
      if (one.key == job.key) return one.verdict;
    }
  }
  return Error{ErrorCode::kTimeout, "no verdict within the suite's patience", ""};
}

Result<OurVerdict> Ask(const Builder& builder, const Candidate& candidate,
                       const task::LoadedTask& loaded, Level level, Device& device) {
  OurVerdict first;
  for (const Workload& workload : task::AllWorkloads(loaded)) {
    Job job = SuiteJob(candidate, loaded, workload, level);
    if (device.Info().needs_artifacts) {
      const CompileOutcome built = TRY(Build(builder, candidate, loaded.task, workload));
      const auto* failed = std::get_if<CompileFailed>(&built);
      if (failed != nullptr) return OurVerdict{WordOf(*failed), failed->reason, {}, 0};
      job.artifact = std::get<Artifact>(built);
    }
    const Outcome outcome = TRY(JudgeOne(job, device)).outcome;
    const OurVerdict here = VerdictOf(outcome);
    if (!here.word.starts_with("passed")) return here;
    if (first.word.empty()) first = here;
  }
  return first;
}

}  // namespace

std::string WordOf(const Outcome& outcome) { return std::visit(Words{}, outcome); }

Protocol SuiteProtocol(Level level, Form form) {
  Protocol protocol = level == Level::kCertified ? Protocol::Certified() : Protocol::Screened();
  protocol = protocol.For(form);
  protocol.rounds = 2;
  protocol.max_rounds = 2;
  protocol.runner_processes = std::min(protocol.runner_processes, 2);
  protocol.target_half_width = 0;
  protocol.step_timeout_ms = kStepLimitMs;
  return protocol;
}

Job SuiteJob(const Candidate& candidate, const task::LoadedTask& loaded, const Workload& workload,
             Level level) {
  const Protocol protocol = SuiteProtocol(level, candidate.form);
  return {MeasurementKey(candidate, loaded.task, workload, protocol),
          loaded.task,
          workload,
          candidate,
          std::nullopt,
          protocol};
}

Result<CompileOutcome> Build(const Builder& builder, const Candidate& candidate, const Task& task,
                             const Workload& workload) {
  const Candidate compiled = TRY(WithProgramShim(candidate, task, workload));
  return builder.compiler->Compile(compiled, builder.architecture);
}

OurVerdict AskOurs(const Builder& builder, const Candidate& candidate,
                   const task::LoadedTask& loaded, Level level, Device& device) {
  const Result<OurVerdict> verdict = Ask(builder, candidate, loaded, level, device);
  if (verdict.ok()) return *verdict;
  return {"error: " + verdict.error().Line(), "", {}, 0};
}

}  // namespace warpsmith::attacks
