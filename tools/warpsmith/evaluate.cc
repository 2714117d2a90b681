#include <cstdio>
#include <filesystem>
#include <iostream>

#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "command_tree.h"
#include "commands.h"
#include "core/serialize.h"
#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/module.h"
#include "cuda/plan/prepared_plan.h"
#include "report/reproduce/folder.h"
#include "report/suite.h"
#include "report/terminal.h"
#include "search/call_time.h"
#include "search/evaluation/judging.h"

namespace warpsmith::cli {
namespace {

struct EvaluateOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  search::PaceOptions pace;
  std::string task, workload;
  std::string many;       // a folder of tasks with their candidates, instead of one task
  std::string csv;        // --many: one row a verdict
  std::string reproduce;  // a folder for what times the candidate without warpsmith
  std::vector<std::string> candidates;
  bool certified = false, paper_protocol = false;
  bool stream = false;  // candidates are named on stdin
  std::string fail_on = "incorrect";
};

Protocol ProtocolOf(const EvaluateOptions& options) {
  if (options.paper_protocol) return Protocol::Paper();
  return options.certified ? Protocol::Certified() : Protocol::Screened();
}

Result<int64_t> AskDevice(search::Machine& machine, const Candidate& candidate,
                          const ResolvedLaunch& launch) {
  const CompileOutcome compiled =
      TRY(machine.compiler().Compile(candidate, machine.info().architecture));
  const auto* artifact = std::get_if<Artifact>(&compiled);
  if (artifact == nullptr) {
    return Error{ErrorCode::kBadInput,
                 "does not compile: " + std::get<CompileFailed>(compiled).reason, ""};
  }
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(machine.info().uuid));
  const cuda::Context context = TRY(cuda::Context::Retain(device, cuda::HostWait::kBlock));
  const cuda::Module module = TRY(cuda::Module::Load(artifact->image));
  return plan::OccupancyOf(module, device.sm_count)(launch);
}

// None in a replay or at a server: there is no device to ask.
reproduce::Occupancy OccupancyOn(search::Machine& machine) {
  if (machine.local() == nullptr) return {};
  return [&machine](const Candidate& candidate, const ResolvedLaunch& launch) {
    return AskDevice(machine, candidate, launch);
  };
}

// evaluate --reproduce: writes a folder that times a verdict's candidate without warpsmith.
// kNothingMeasured where the candidate did not pass.
Status WriteReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                         const search::JudgedCandidate& judged,
                         const std::filesystem::path& folder) {
  const reproduce::Subject subject{
      judged.name,       loaded.task,      loaded.workload, judged.judged.step.candidate,
      judged.judged.key, judged.verdict(), machine.info()};
  const auto files = TRY(reproduce::MakeFolder(subject, OccupancyOn(machine)));
  return reproduce::WriteFolder(folder, files);
}

// The same, but what cannot be written is said on stderr and is no failure; a full disk is one.
Status TryReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                       const search::JudgedCandidate& judged, const std::filesystem::path& folder) {
  const Status written = WriteReproduction(machine, loaded, judged, folder);
  if (written.ok() || written.error().code == ErrorCode::kIo) return written;
  std::fprintf(stderr, "no reproduction of %s\n",
               report::Printable(written.error().Line()).c_str());
  return {};
}

// "<task>__<workload>__<candidate>__<beginning of its id>": two candidates never share one.
std::string ReproductionName(const std::string& task, const std::string& workload,
                             const search::JudgedCandidate& judged) {
  constexpr size_t kIdDigits = 8;
  return reproduce::FolderName(task) + "__" + reproduce::FolderName(workload) + "__" +
         reproduce::FolderName(judged.name) + "__" +
         CandidateId(judged.judged.step.candidate).substr(0, kIdDigits);
}

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

namespace fs = std::filesystem;

constexpr double kConfidence = 0.95;

std::string Relative(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return relative.empty() || relative == "." ? path.filename().string() : relative.string();
}

// The harness's trouble with one entry: told in the table.
report::SuiteRow NotJudged(const search::SuiteEntry& entry, const fs::path& root,
                           const Error& error) {
  return {Relative(entry.task, root), "", Relative(entry.candidate, entry.task),
          Verdict{Inconclusive{error.Line()}, {}}};
}

bool IsDegenerate(const Verdict& verdict) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  return passed != nullptr && !passed->correctness.degenerate.empty();
}

Result<std::vector<report::SuiteRow>> JudgeEntry(search::Machine& machine,
                                                 const search::SuiteEntry& entry,
                                                 const fs::path& root,
                                                 const EvaluateOptions& options) {
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(entry.task.string(), ""));
  const auto candidates = TRY(task::LoadCandidates({entry.candidate.string()}));
  std::vector<report::SuiteRow> rows;
  for (search::JudgedCandidate& one :
       TRY(search::JudgeCandidates(machine, loaded, ProtocolOf(options), candidates))) {
    rows.push_back({Relative(entry.task, root), loaded.workload.name,
                    Relative(entry.candidate, entry.task), one.verdict(),
                    loaded.task.headline && !IsDegenerate(one.verdict())});
    if (options.reproduce.empty()) continue;
    one.name = rows.back().candidate;
    const std::string name = ReproductionName(rows.back().task, rows.back().workload, one);
    TRY(TryReproduction(machine, loaded, one, fs::path(options.reproduce) / name));
  }
  return rows;
}

void SayProgress(const report::SuiteRow& row, size_t done, size_t all) {
  std::fprintf(stderr, "[%zu/%zu] %s %s: %s\n", done, all, row.task.c_str(), row.candidate.c_str(),
               report::Printable(Describe(row.verdict.outcome)).c_str());
}

bool StopsAll(const Error& error) {
  return error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kUnavailable;
}

// Every folder below options.many with a task.toml is a task, and every candidate.toml below it a
// candidate of it (a folder named "current" or "reference" is none). What cannot be loaded is a row
// of the table, not the end. Verdicts go into the store, so that a second run goes on where the
// first one stopped.
Result<int> RunEvaluateMany(const EvaluateOptions& options) {
  const fs::path root(options.many);
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<search::SuiteEntry> entries =
      search::TakeSlice(slice, TRY(search::FindEntries(root)));
  // Now, not after the first verdict, is when to hear that it cannot be written.
  if (!options.csv.empty() && !fs::exists(options.csv)) {
    TRY(WriteFileAtomic(options.csv, report::SuiteCsv({})));
  }
  search::Machine machine = TRY(search::Machine::Open(options.device));
  SayOrigin(machine, options.common, false);
  std::jthread ahead;
  if (machine.loop_compiler() != nullptr) {
    ahead = search::CompileAhead(machine.compiler(), machine.info().architecture, entries);
  }
  const search::CallTime time(options.pace);
  std::vector<report::SuiteRow> rows;
  bool complete = true;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (time.IsOver()) {
      complete = false;
      break;
    }
    auto judged = JudgeEntry(machine, entries[i], root, options);
    if (!judged.ok() && StopsAll(judged.error())) return judged.error();
    if (!judged.ok()) judged = std::vector{NotJudged(entries[i], root, judged.error())};
    for (report::SuiteRow& row : *judged) {
      if (!options.common.quiet) SayProgress(row, i + 1, entries.size());
      rows.push_back(std::move(row));
    }
    // Written as it goes: what was judged is not lost.
    if (!options.csv.empty()) TRY(WriteFileAtomic(options.csv, report::SuiteCsv(rows)));
  }
  SayOrigin(machine, options.common, true);
  const report::SuiteSummary summary = report::SummariseSuite(rows, kConfidence);
  std::fputs((options.common.json ? report::SuiteJson(rows, summary) + "\n"
                                  : report::RenderSuite(rows, summary))
                 .c_str(),
             stdout);
  if (!complete) {
    std::fprintf(stderr, "stopped after %zu of %zu; the same command goes on\n", rows.size(),
                 entries.size());
  }
  const bool failed = summary.valid < summary.total && options.fail_on != "never";
  return complete && !failed ? 0 : 1;
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

}  // namespace

void AddEvaluate(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("evaluate", "judge candidates: verdicts and exit status");
  auto options = std::make_shared<EvaluateOptions>();
  command->add_option("task", options->task, kTaskHelp);
  command->add_option("candidates", options->candidates,
                      "candidate.toml files or folders, or a .cu file");
  command->add_option("--many", options->many,
                      "instead of both: a folder of tasks, with their candidates below them");
  command->add_option("--csv", options->csv, "with --many: write one row a verdict here");
  command->add_flag("--stream", options->stream,
                    "candidates come on stdin: a JSON list of paths a line; one document a line");
  command->add_option("--reproduce", options->reproduce,
                      "write a folder here that times the candidate without warpsmith");
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_flag("--certified", options->certified, "all modes, fresh data, narrow intervals");
  command->add_flag("--paper-protocol", options->paper_protocol, "CUDA-L2's 10 s + 30 s");
  command->add_option("--fail-on", options->fail_on, "incorrect, regression, never")
      ->check(CLI::IsMember({"incorrect", "regression", "never"}))
      ->capture_default_str();
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  Choose(command, chosen, options, RunEvaluate);
}

}  // namespace warpsmith::cli
