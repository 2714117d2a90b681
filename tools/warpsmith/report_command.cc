#include <cmath>
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/display_text.h"
#include "base/file.h"
#include "command_tree.h"
#include "commands.h"
#include "core/step.h"
#include "judge/statistics.h"
#include "report/run_comparison.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "search/evaluation/judging.h"
#include "search/machine/machine.h"
#include "search/tuning/search.h"
#include "store/database_store.h"

namespace warpsmith::cli {
namespace {

struct ReportOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  ReportFiles files;
  std::vector<std::string> runs;
  bool compare = false;  // side by side
};

struct CompareOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task, workload, first, second;
  std::string fail_on;  // "regression": the second is slower
};

constexpr size_t kMostFailed = 40;
constexpr size_t kMostNameCharacters = 1000;  // uncut, so that it can be given back

// The run and the certification of its best.
std::vector<RunRecord> WithCertification(const std::vector<RunRecord>& runs, const RunRecord& run) {
  std::vector<RunRecord> both = {run};
  for (const RunRecord& other : runs) {
    if (IsCertification(other.id) && CertifiedRun(other.id) == run.id) both.push_back(other);
  }
  return both;
}

struct RunSummary {
  std::string date;             // of the best kernel's verdict, UTC; empty: none passed
  std::optional<double> ratio;  // of the best, to the primary baseline
};

Result<RunSummary> SummaryOf(store::DatabaseStore& store, const std::vector<RunRecord>& runs,
                             const RunRecord& run) {
  const auto best = TRY(store::BestStep(store, WithCertification(runs, run)));
  if (!best) return RunSummary();
  return RunSummary{best->verdict.evidence.date,
                    RatioToPrimary(best->verdict, run.protocol.modes.front())};
}

Result<int> ListRuns(store::DatabaseStore& store, const std::vector<RunRecord>& runs, bool json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RunRecord& run : runs) {
    if (IsCertification(run.id)) continue;
    const RunSummary summary = TRY(SummaryOf(store, runs, run));
    rows.push_back({{"run", run.id},
                    {"task", run.task.name},
                    {"workload", run.workload.name},
                    {"proposer", run.proposer},
                    {"device", run.device.name},
                    {"date", summary.date}});
    if (summary.ratio) rows.back()["ratio"] = *summary.ratio;
    if (!json) {
      // A store may be somebody else's, and a run is named by whoever began it.
      std::printf("%-16s %-7s %-48s %-10s %-18s %-8s %s\n", summary.date.substr(0, 16).c_str(),
                  summary.ratio ? fmt::format("{:.3f}x", *summary.ratio).c_str() : "-",
                  ForTerminal(run.id, kMostNameCharacters).c_str(),
                  ForTerminal(run.task.name).c_str(), ForTerminal(run.workload.name).c_str(),
                  ForTerminal(run.proposer).c_str(), ForTerminal(run.device.name).c_str());
    }
  }
  if (json) PrintDocument("runs", {{"runs", rows}});
  return 0;
}

// The run itself and its certification; or, for a prefix, every run below it.
bool Wanted(const std::string& id, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (id == name || id.starts_with(name + "/")) return true;
  }
  return false;
}

Result<report::RunReport> ReportOf(store::DatabaseStore& store, const std::vector<RunRecord>& runs,
                                   const std::vector<std::string>& names) {
  report::RunReport report;
  for (const RunRecord& run : runs) {
    if (!Wanted(run.id, names) || IsCertification(run.id)) continue;
    Trajectory steps = TRY(store.Steps(run.id));
    for (Step& step : TRY(search::CertifiedSteps(store, run, runs))) {
      steps.push_back(std::move(step));
    }
    TRY(search::Overrule(store, run.id, steps));
    report.shapes.push_back(report::SummariseShape(run.task, run.workload, steps, Mode::kDeviceHot,
                                                   RewardOfProposer(run.proposer)));
    report.origin.device = run.device.name;
    report.origin.driver = run.device.driver;
    report.origin.command = run.command;
    if (run.device.origin != "local") report.origin.recording = run.device.origin;
    for (const Step& step : steps) {
      const Evidence& evidence = step.verdict.evidence;
      report.origin.date = std::max(report.origin.date, evidence.date);
      if (!evidence.toolchain.empty()) report.origin.toolkit = evidence.toolchain;
      if (!evidence.baseline_library.empty()) {
        report.origin.baseline_library = evidence.baseline_library;
      }
    }
  }
  return report;
}

// Each of options.runs is a side: the run of that name, and every run below it ("name/...").
Result<int> CompareStoredRuns(const ReportOptions& options) {
  if (options.runs.empty()) {
    return Error{ErrorCode::kUsage, "--compare needs the names of runs",
                 "warpsmith report --compare FRESH WARM"};
  }
  const auto store = TRY(search::OpenExistingStore(options.device.store));
  const std::vector<RunRecord> all = TRY(store->Runs());
  std::vector<report::SideRuns> sides;
  for (const std::string& name : options.runs)
    sides.push_back(TRY(search::SideOf(*store, name, all)));
  report::RunComparison comparison = report::CompareRuns(sides);
  for (const std::string& name : options.runs) {
    comparison.title += (comparison.title.empty() ? "" : " | ") + name;
  }
  comparison.origin = search::OriginOfSides(sides);
  TRY(Publish(comparison, options.files, options.common.json));
  return 0;
}

Result<int> RunReport(const ReportOptions& options) {
  if (options.compare) return CompareStoredRuns(options);
  const auto store = TRY(search::OpenExistingStore(options.device.store));
  const std::vector<RunRecord> runs = TRY(store->Runs());
  if (options.runs.empty()) return ListRuns(*store, runs, options.common.json);
  report::RunReport report = TRY(ReportOf(*store, runs, options.runs));
  if (report.shapes.empty()) {
    return Error{ErrorCode::kNoInput, "no run named '" + options.runs.front() + "'",
                 "'warpsmith report' lists the runs"};
  }
  report.title = options.runs.front();
  report.origin.program = "warpsmith " + std::string(build_info::Version());
  TRY(Publish(report, options.files, options.common.json));
  if (!options.common.json) {
    std::fputs(
        report::RenderFailed(report, kMostFailed, report::StyleOf(STDOUT_FILENO).colour).c_str(),
        stdout);
  }
  return 0;
}

// Two candidates met the same bar, each in a run of its own, so their ratio is the quotient of two
// ratios to it: the logarithms' half-widths add in quadrature.
std::optional<Comparison> Between(const search::JudgedCandidate& first,
                                  const search::JudgedCandidate& second, Mode mode) {
  const ModeTiming* a = FindTiming(first.verdict(), mode);
  const ModeTiming* b = FindTiming(second.verdict(), mode);
  if (a == nullptr || b == nullptr || a->comparisons.empty() || b->comparisons.empty()) {
    return std::nullopt;
  }
  const Comparison& x = a->comparisons.front();
  const Comparison& y = b->comparisons.front();
  const double below =
      std::hypot(std::log(y.ratio / y.interval.lo), std::log(x.interval.hi / x.ratio));
  const double above =
      std::hypot(std::log(y.interval.hi / y.ratio), std::log(x.ratio / x.interval.lo));
  Comparison between;
  between.baseline = first.name;
  between.ratio = y.ratio / x.ratio;
  between.interval = {between.ratio * std::exp(-below), between.ratio * std::exp(above)};
  between.finding = judge::FindingOf(between.interval, Protocol::Certified().band);
  return between;
}

Result<task::NamedCandidate> LoadOne(const std::string& path) {
  auto candidates = TRY(task::LoadCandidates({path}));
  if (candidates.size() != 1) {
    return Error{
        ErrorCode::kBadInput,
        path + " holds " + std::to_string(candidates.size()) + " candidates, one is compared",
        "remove its [tunables], or use optimize"};
  }
  return std::move(candidates.front());
}

Result<search::JudgedCandidate> JudgeOne(search::Machine& machine, const task::LoadedTask& loaded,
                                         const task::NamedCandidate& candidate, bool quiet) {
  search::SessionOptions options;
  options.keeps_verdicts = true;
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  auto judged = TRY(search::JudgeCandidates(machine, loaded, Protocol::Certified(), {candidate},
                                            options, quiet ? nullptr : &line));
  return std::move(judged.front());
}

Result<int> RunCompare(const CompareOptions& options) {
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  const auto one = TRY(LoadOne(options.first)), other = TRY(LoadOne(options.second));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  SayOrigin(machine, options.common, false);
  const search::JudgedCandidate first = TRY(JudgeOne(machine, loaded, one, options.common.quiet));
  const search::JudgedCandidate second =
      TRY(JudgeOne(machine, loaded, other, options.common.quiet));
  SayOrigin(machine, options.common, true);
  nlohmann::json rows = nlohmann::json::array();
  bool slower = false;
  std::vector<Mode> modes = {Mode::kWall};  // of programs, and beside PyTorch
  for (Mode mode : Protocol::Certified().modes) modes.push_back(mode);
  for (Mode mode : modes) {
    const auto between = Between(first, second, mode);
    if (!between) continue;
    slower = slower || between->finding == Finding::kSlower;
    rows.push_back({{"mode", Name(mode)},
                    {"ratio", between->ratio},
                    {"lo", between->interval.lo},
                    {"hi", between->interval.hi},
                    {"finding", Name(between->finding)}});
    if (!options.common.json) {
      std::printf("%-12s %s is %.3fx %s [%.3f, %.3f]: %s\n", std::string(Name(mode)).c_str(),
                  second.name.c_str(), between->ratio, first.name.c_str(), between->interval.lo,
                  between->interval.hi, std::string(Name(between->finding)).c_str());
    }
  }
  if (options.common.json) {
    PrintDocument("comparison", {{"first", first.name}, {"second", second.name}, {"modes", rows}});
  }
  if (rows.empty()) {
    for (const search::JudgedCandidate* one : {&first, &second}) {
      std::fprintf(stderr, "%s: %s\n", one->name.c_str(), Describe(one->verdict().outcome).c_str());
    }
    return 1;
  }
  return slower && options.fail_on == "regression" ? 1 : 0;
}

}  // namespace

void AddReport(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("report", "table, HTML, CSV and JSON of stored runs");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("runs", options->runs, "run names; none: list them");
  command->add_flag("--compare", options->compare, "side by side, paired by task with the first");
  AddDevice(command, options->device);
  AddReportFiles(command, options->files);
  Choose(command, chosen, options, RunReport);
}

void AddCompare(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("compare", "two candidates of one task, certified");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("task", options->task, kTaskHelp)->required();
  command->add_option("first", options->first, "candidate.toml or folder")->required();
  command->add_option("second", options->second, "candidate.toml or folder")->required();
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_option("--fail-on", options->fail_on, "regression: exit 1 when second is slower")
      ->check(CLI::IsMember({"regression", "never"}));
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunCompare);
}

}  // namespace warpsmith::cli
