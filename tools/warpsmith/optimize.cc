#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "judge/resolved_task.h"
#include "report/terminal.h"
#include "search.h"
#include "search/call_time.h"
#include "search/evaluation/judging.h"
#include "task/hgemm_task.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

// Screened: replayed, and on an H200 (small shapes; the fixed cost of a verdict).
constexpr double kSecondsAReplay = 0.0005, kSecondsAVerdict = 0.05;

// A candidate.toml's tunables, or the kernel families where the task is an HGEMM.
Result<search::SearchJob> JobFor(const OptimizeOptions& options, search::Machine& machine,
                                 const task::LoadedTask& loaded) {
  if (!options.candidate.empty()) {
    const auto file = std::make_shared<const task::CandidateFile>(
        TRY(task::CandidateFile::Load(options.candidate)));
    search::SearchJob job{loaded.task, loaded.workload, file->space(), {}, {}, {},
                          {},          loaded.task.name};
    job.make = [file](const Point& point) { return file->Make(point); };
    return job;
  }
  if (task::LayoutOf(loaded.task).empty()) {
    return Error{ErrorCode::kConfig, "task '" + loaded.task.name + "' has no kernel family",
                 "give a starting kernel with --candidate candidate.toml and its [tunables]"};
  }
  const judge::ResolvedTask problem = TRY(judge::ResolveTask(loaded.task, loaded.workload));
  if (!problem.gemm) {
    return Error{ErrorCode::kBadInput,
                 options.task + ": without --candidate only matrix products can be optimized",
                 "give a candidate with tunables: --candidate DIR"};
  }
  // The families speak of the built-in task, so that measurements are shared with hgemm tune.
  const Workload workload =
      task::HgemmWorkload({problem.gemm->m, problem.gemm->n, problem.gemm->k});
  const Task task = task::HgemmTask(task::LayoutOf(loaded.task), problem.gemm->dtype);
  return search::HgemmSearch(machine, task, workload);
}

}  // namespace

Result<int> RunOptimize(const OptimizeOptions& given) {
  OptimizeOptions options = given;
  const bool is_agent = options.search.proposer == "agent";
  if (options.search.budget.empty()) options.search.budget = is_agent ? "evals=40" : "evals=160";
  if (is_agent) return RunAgent(options);
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const Budget budget = TRY(ParseBudget(options.search.budget));
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  search::SearchJob job = TRY(JobFor(options, machine, loaded));
  SayOrigin(machine, options.common, false);
  if (slice.count > 1) {
    job.space = Space(job.space.name() + " " + options.pace.slice,
                      search::TakeSlice(slice, job.space.points()));
  }
  if (options.search.dry_run) {
    const int64_t evaluations =
        std::min(budget.evaluations, static_cast<int64_t>(job.space.size()));
    const double each = machine.recorded() != nullptr ? kSecondsAReplay : kSecondsAVerdict;
    PrintDryRun(
        {{job.label, job.space.size(), evaluations, each * static_cast<double>(evaluations)}},
        options.common.json);
    return 0;
  }
  const std::string prefix = TRY(search::RunName(machine, options.search, loaded.task.name));
  const std::string command = "warpsmith optimize " + options.task;
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const search::SearchEnd end =
      TRY(search::Search(job, {&machine, &options.search, options.common.quiet ? nullptr : &line,
                               prefix, command, search::CallTime(options.pace).Left()}));
  line.Clear();
  SayOrigin(machine, options.common, true);
  report::RunReport report;
  report.title = job.task.name;
  report.shapes = {end.report};
  report.origin = OriginOf(machine, {end}, command);
  TRY(Publish(report, options.files, options.common.json));
  if (!options.common.quiet)
    std::fprintf(stderr, "run: %s; its kernel: warpsmith export %s -o best\n", prefix.c_str(),
                 prefix.c_str());
  if (end.reason == search::EndReason::kInterrupted) {
    return Describe(ErrorCode::kInterrupted).exit_status;
  }
  return ExitStatus(report, options.search.fail_on);
}

}  // namespace warpsmith::cli
