#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "commands.h"
#include "core/serialize.h"
#include "reproducing.h"
#include "search.h"
#include "search/evaluation/judging.h"

namespace warpsmith::cli {
namespace {

nlohmann::json FieldsOf(const std::vector<search::JudgedCandidate>& judged) {
  nlohmann::json rows = nlohmann::json::array();
  for (const search::JudgedCandidate& one : judged) {
    rows.push_back({{"candidate", one.name},
                    {"id", CandidateId(one.judged.step.candidate)},
                    {"key", one.judged.key},
                    {"verdict", warpsmith::ToJson(one.verdict())}});
  }
  return {{"verdicts", rows}};
}

// "; GPU busy 8.1 us, 2.3x": of the baseline, where both were traced.
std::string BusyRatio(const ModeTiming& mode, const std::string& baseline) {
  for (const ContenderTiming& timing : mode.baselines) {
    if (timing.name != baseline || timing.gpu_busy_us <= 0) continue;
    if (mode.candidate.gpu_busy_us <= 0) break;
    return fmt::format("; GPU busy {:.3f} us, {:.3f}x", timing.gpu_busy_us,
                       timing.gpu_busy_us / mode.candidate.gpu_busy_us);
  }
  return "";
}

void PrintTimings(const Passed& passed) {
  for (const Timing& timing : passed.timings) {
    for (const ModeTiming& mode : timing.modes) {
      std::printf("  %-12s %10.3f us  [%.3f, %.3f]  floor %.3f us%s\n",
                  std::string(Name(mode.mode)).c_str(), mode.candidate.median_us,
                  mode.candidate.interval_us.lo, mode.candidate.interval_us.hi, mode.roofline_us,
                  mode.below_roofline ? "  BELOW ITS FLOOR: suspicious" : "");
      if (mode.candidate.gpu_busy_us > 0) {
        std::printf("    GPU busy %.3f us of it, as the candidate's own process says\n",
                    mode.candidate.gpu_busy_us);
      }
      for (const Comparison& comparison : mode.comparisons) {
        std::printf("    %.3fx %s [%.3f, %.3f]: %s%s\n", comparison.ratio,
                    comparison.baseline.c_str(), comparison.interval.lo, comparison.interval.hi,
                    std::string(Name(comparison.finding)).c_str(),
                    BusyRatio(mode, comparison.baseline).c_str());
      }
    }
  }
}

// So that a person sees how near the limit it is.
void PrintBias(const Correctness& correctness) {
  if (!correctness.bias) return;
  const auto text = [](const Estimate& mean) {
    return fmt::format("{:+.4f} [{:+.4f}, {:+.4f}]", mean.value, mean.interval.lo,
                       mean.interval.hi);
  };
  const Bias& bias = *correctness.bias;
  std::printf("  bias away from zero %s, upwards %s halves of a last place%s\n",
              text(bias.magnitude).c_str(), text(bias.value).c_str(),
              bias.allowed > 0 ? fmt::format("; allowed {:.4f}", bias.allowed).c_str() : "");
}

void Print(const search::JudgedCandidate& judged) {
  const Outcome& outcome = judged.verdict().outcome;
  std::printf("%s: %s\n", LinesForTerminal(judged.name).c_str(), Describe(outcome).c_str());
  if (const auto* passed = std::get_if<Passed>(&outcome)) {
    PrintTimings(*passed);
    PrintBias(passed->correctness);
    for (const AuditReport& audit : passed->audits) {
      std::printf("  %-10s %s%s%s\n", audit.tool.c_str(),
                  audit.status == AuditStatus::kClean ? "clean" : "ABSENT",
                  audit.detail.empty() ? "" : ": ", LinesForTerminal(audit.detail).c_str());
    }
    for (const std::string& absent : passed->correctness.absent) {
      std::printf("  not checked: %s\n", LinesForTerminal(absent).c_str());
    }
  }
  if (!judged.verdict().evidence.sandbox.empty()) {
    std::printf("  sandbox %s\n", judged.verdict().evidence.sandbox.c_str());
  }
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
    std::printf("%s\n", LinesForTerminal(failed->log).c_str());
  }
}

bool Slower(const Outcome& outcome) {
  const auto* passed = std::get_if<Passed>(&outcome);
  if (passed == nullptr || passed->timings.empty()) return false;
  for (const ModeTiming& mode : passed->timings.front().modes) {
    if (!mode.comparisons.empty() && mode.comparisons.front().finding == Finding::kSlower) {
      return true;
    }
  }
  return false;
}

int StatusOf(const std::vector<search::JudgedCandidate>& judged, const std::string& fail_on) {
  for (const search::JudgedCandidate& one : judged) {
    const Outcome& outcome = one.verdict().outcome;
    if (fail_on == "never") return 0;
    if (!std::holds_alternative<Passed>(outcome)) return 1;
    if (fail_on == "regression" && Slower(outcome)) return 1;
  }
  return 0;
}

// One candidate's files go into the folder itself, several candidates' into one each below it.
Status Reproduce(search::Machine& machine, const task::LoadedTask& loaded,
                 const std::vector<search::JudgedCandidate>& judged,
                 const std::filesystem::path& folder) {
  if (judged.size() == 1) return TryReproduction(machine, loaded, judged.front(), folder);
  for (const search::JudgedCandidate& one : judged) {
    const std::string name = ReproductionName(loaded.task.name, loaded.workload.name, one);
    TRY(TryReproduction(machine, loaded, one, folder / name));
  }
  return {};
}

Result<std::vector<search::JudgedCandidate>> JudgeLine(search::Machine& machine,
                                                       const task::LoadedTask& loaded,
                                                       const EvaluateOptions& options,
                                                       const std::string& line) {
  const nlohmann::json json = TRY(ParseJson("stdin", line));
  std::vector<std::string> paths;
  for (const JsonReader& path : TRY(JsonReader("stdin", json).Items())) {
    paths.push_back(TRY(path.String()));
  }
  return search::JudgeCandidates(machine, loaded, ProtocolOf(options),
                                 TRY(task::LoadCandidates(paths)));
}

// One process for as many candidates as somebody has: what the device needs is made ready once.
// Each line of stdin is answered by one line, an error's too.
Result<int> JudgeStream(search::Machine& machine, const task::LoadedTask& loaded,
                        const EvaluateOptions& options) {
  for (std::string line; !Interrupted() && std::getline(std::cin, line);) {
    const auto judged = JudgeLine(machine, loaded, options, line);
    const std::string answer =
        judged.ok() ? Document("evaluation", FieldsOf(*judged), -1) : ErrorJson(judged.error());
    std::printf("%s\n", answer.c_str());
    if (std::fflush(stdout) != 0) break;  // whoever asked is gone; told at the end
  }
  return 0;
}

// What would be passed over in silence is said.
Status CheckTogether(const EvaluateOptions& options) {
  const search::PaceOptions usual;
  const bool many = !options.many.empty();
  const bool one = !options.task.empty() || !options.candidates.empty();
  const bool paced =
      options.pace.slice != usual.slice || options.pace.max_seconds != usual.max_seconds;
  std::string wrong;
  if (many && (one || !options.workload.empty())) {
    wrong = "--many takes no task, candidate or --workload: it finds them below its folder";
  } else if (!many && (!options.csv.empty() || paced)) {
    wrong = "--csv, --slice and --max-seconds go with --many";
  } else if (options.stream &&
             (many || !options.candidates.empty() || !options.reproduce.empty())) {
    wrong = "--stream reads candidates from stdin, and goes with a task alone";
  } else if (!many && (options.task.empty() || (options.candidates.empty() && !options.stream))) {
    wrong = "evaluate needs a task and a candidate, or --many DIR";
  }
  if (wrong.empty()) return {};
  return Error{ErrorCode::kUsage, wrong, "see: warpsmith evaluate --help"};
}

}  // namespace

Protocol ProtocolOf(const EvaluateOptions& options) {
  if (options.paper_protocol) return Protocol::Paper();
  return options.certified ? Protocol::Certified() : Protocol::Screened();
}

Result<int> RunEvaluate(const EvaluateOptions& options) {
  TRY(CheckTogether(options));
  if (!options.many.empty()) return RunEvaluateMany(options);
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  const auto candidates = TRY(task::LoadCandidates(options.candidates));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  if (options.stream) return JudgeStream(machine, loaded, options);
  SayOrigin(machine, options.common, false);
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const std::vector<search::JudgedCandidate> judged = TRY(
      search::JudgeCandidates(machine, loaded, ProtocolOf(options), candidates,
                              search::EvaluationOptions(), options.common.quiet ? nullptr : &line));
  SayOrigin(machine, options.common, true);
  if (!options.reproduce.empty()) TRY(Reproduce(machine, loaded, judged, options.reproduce));
  if (options.common.json) {
    PrintDocument("evaluation", FieldsOf(judged));
  } else {
    for (const search::JudgedCandidate& one : judged) Print(one);
  }
  return StatusOf(judged, options.fail_on);
}

}  // namespace warpsmith::cli
