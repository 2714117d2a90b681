#include "judging.h"

#include <algorithm>

#include "base/interrupt.h"
#include "core/resolved_plan.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/problem.h"
#include "search/evaluator.h"
#include "task/candidate_file.h"

namespace warpsmith::cli {

namespace {

// The same error, told with the place that it is about.
Error At(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return error;
}

// In a file it is the file that is off, not the command line.
Error AsBadInput(Error error) {
  error.code = ErrorCode::kBadInput;
  return error;
}

Status CheckBaseline(const std::string& name, const Task& task) {
  const bool is_rival = std::any_of(task.rivals.begin(), task.rivals.end(),
                                    [&](const Rival& rival) { return rival.name == name; });
  if (is_rival) return {};
  if (task.reference.kind == "gemm") {
    const auto known = baseline::ParseGemmBaselineName(name);
    return known.ok() ? Status{} : Status(AsBadInput(known.error()));
  }
  const bool is_torch = name == "torch-eager" || name == "torch-compile" || name == "torch-best";
  if (is_torch && task.reference.kind != "cuda") return {};
  return Error{ErrorCode::kBadInput, "'" + name + "' is no baseline of this task",
               "name one of its [[rivals]], or with a torch reference torch-eager, torch-compile "
               "or torch-best"};
}

// The candidate declares that it is not for these sizes.
bool DeclaredOut(const Candidate& candidate, const Workload& workload) {
  if (candidate.form != Form::kKernel) return false;
  const Result<int64_t> valid = candidate.plan.valid_when.Evaluate(workload.sizes);
  return valid.ok() && *valid == 0;
}

// What failing on a hidden workload makes of a verdict. Not its words: they could tell a proposer
// the sizes.
Outcome OnHidden(const Outcome& outcome) {
  if (const auto* wrong = std::get_if<Incorrect>(&outcome)) {
    return Incorrect{"hidden-workload",
                     "wrong on sizes that it was not shown (" + wrong->detector + ")", wrong->error,
                     wrong->bound, -1};
  }
  return Incorrect{
      "hidden-workload",
      "fails on sizes that it was not shown (" + std::string(OutcomeName(outcome)) + ")", 0, 0, -1};
}

}  // namespace

Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload) {
  task::LoadedTask loaded = TRY(task::LoadTask(reference, workload));
  const auto problem = judge::ProblemOf(loaded.task, loaded.workload);
  const auto flops = loaded.task.flops.Evaluate(loaded.workload.sizes);
  if (!problem.ok()) return At(reference, problem.error());
  if (!flops.ok()) return At(reference + ": flops", flops.error());
  for (const std::string& name : loaded.task.baselines) {
    const Status known = CheckBaseline(name, loaded.task);
    if (!known.ok()) return At(reference + ": baselines", known.error());
  }
  return loaded;
}

Status CheckPlan(const std::string& name, const Candidate& candidate, const Task& task,
                 const Workload& workload, const DeviceInfo& device) {
  const auto one_cluster = [](const ResolvedLaunch&) -> Result<int64_t> { return int64_t{1}; };
  const auto resolved = Resolve(candidate.plan, task, workload.sizes, device.sm_count, one_cluster);
  if (resolved.ok()) return {};
  return At(name + ": for workload '" + workload.name + "'", resolved.error());
}

Result<std::vector<Judged>> JudgeAll(Machine& machine, const Task& task, const Workload& workload,
                                     const Protocol& protocol,
                                     const std::vector<std::pair<std::string, Candidate>>& named,
                                     const Stop& stop) {
  store::SqliteStore* store = TRY(machine.store());
  search::Evaluator evaluator({task, workload, protocol}, machine.loop_compiler(), 1,
                              machine.device(), *store);
  std::vector<Judged> judged;
  for (const auto& [name, candidate] : named) {
    const std::string key = evaluator.KeyOf(candidate);
    const bool has_plan = candidate.form == Form::kKernel;
    if (has_plan && machine.recorded() != nullptr && !machine.recorded()->Has(key)) {
      TRY(CheckPlan(name, candidate, task, workload, machine.info()));
    }
    TRY(evaluator.Begin(key, candidate));
    std::optional<Completed> completed = evaluator.Take(key);
    while (!completed) {
      if (Interrupted() || (stop && stop() && evaluator.on_device() == 0)) {
        return Error{ErrorCode::kInterrupted, "stopped while judging " + name, ""};
      }
      TRY(evaluator.SubmitNext());
      TRY(evaluator.Wait());
      completed = evaluator.Take(key);
    }
    Job job{key, task, workload, candidate, std::nullopt, protocol};
    TRY(store->ImportVerdict(job, *completed));
    judged.push_back({name, candidate, std::move(*completed)});
  }
  return judged;
}

namespace {

// In the order given; candidates of both forms, each under its own protocol.
Result<std::vector<Judged>> JudgeByForm(Machine& machine, const Task& task,
                                        const Workload& workload, const Protocol& protocol,
                                        const std::vector<std::pair<std::string, Candidate>>& named,
                                        const Stop& stop) {
  std::vector<Judged> judged;
  for (size_t begin = 0; begin < named.size();) {
    const Form form = named[begin].second.form;
    size_t end = begin;
    while (end < named.size() && named[end].second.form == form) ++end;
    const std::vector<std::pair<std::string, Candidate>> same(
        named.begin() + static_cast<std::ptrdiff_t>(begin),
        named.begin() + static_cast<std::ptrdiff_t>(end));
    for (Judged& one : TRY(JudgeAll(machine, task, workload, protocol.For(form), same, stop))) {
      judged.push_back(std::move(one));
    }
    begin = end;
  }
  return judged;
}

}  // namespace

Result<std::vector<Judged>> JudgeOnTask(Machine& machine, const task::LoadedTask& loaded,
                                        const Protocol& protocol,
                                        const std::vector<std::pair<std::string, Candidate>>& named,
                                        const Stop& stop) {
  for (const auto& [name, candidate] : named) {
    TRY(task::CheckForm(name, candidate, loaded.task));
  }
  std::vector<Judged> judged =
      TRY(JudgeByForm(machine, loaded.task, loaded.workload, protocol, named, stop));
  if (machine.recorded() != nullptr) return judged;  // it holds what was recorded, no more
  for (const Workload& workload : loaded.task.workloads) {
    if (!workload.hidden || workload.name == loaded.workload.name) continue;
    for (Judged& one : judged) {
      const bool passed = std::holds_alternative<Passed>(one.completed.verdict.outcome);
      if (!passed) continue;
      if (DeclaredOut(one.candidate, workload)) {
        one.completed.verdict.outcome =
            Rejected{"hidden-workload", "its valid_when leaves out sizes that the task asks for"};
        continue;
      }
      const auto again = TRY(JudgeByForm(machine, loaded.task, workload, Protocol::Screened(),
                                         {{one.name, one.candidate}}, stop));
      one.completed.gpu_seconds += again.front().completed.gpu_seconds;
      const Outcome& outcome = again.front().completed.verdict.outcome;
      if (std::holds_alternative<Passed>(outcome)) continue;
      // The judge's own trouble with those sizes says nothing about the candidate.
      if (std::holds_alternative<Inconclusive>(outcome)) continue;
      one.completed.verdict.outcome = OnHidden(outcome);
    }
  }
  return judged;
}

Result<std::vector<std::pair<std::string, Candidate>>> LoadCandidates(
    const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, Candidate>> named;
  for (const std::string& path : paths) {
    const task::CandidateFile file = TRY(task::CandidateFile::Load(path));
    for (const Point& point : file.space().points()) {
      const std::string name = point.config.empty() ? path : path + ": " + PointName(point);
      named.emplace_back(name, TRY(file.Make(point)));
    }
  }
  return named;
}

}  // namespace warpsmith::cli
