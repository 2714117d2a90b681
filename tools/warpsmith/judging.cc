#include "judging.h"

#include "baseline/gemm_baseline.h"
#include "core/resolved_plan.h"
#include "judge/problem.h"
#include "optimize/evaluator.h"
#include "util/interrupt.h"

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

}  // namespace

Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload) {
  task::LoadedTask loaded = TRY(task::LoadTask(reference, workload));
  const auto problem = judge::ProblemOf(loaded.task, loaded.workload);
  const auto flops = loaded.task.flops.Evaluate(loaded.workload.sizes);
  if (!problem.ok()) return At(reference, problem.error());
  if (!flops.ok()) return At(reference + ": flops", flops.error());
  for (const std::string& name : loaded.task.baselines) {
    const auto known = baseline::ParseGemmBaselineName(name);
    if (!known.ok()) return At(reference + ": baselines", AsBadInput(known.error()));
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
                                     const std::vector<std::pair<std::string, Candidate>>& named) {
  store::SqliteStore* store = TRY(machine.store());
  optimize::Evaluator evaluator({task, workload, protocol}, machine.loop_compiler(), 1,
                                machine.device(), *store);
  std::vector<Judged> judged;
  for (const auto& [name, candidate] : named) {
    const std::string key = evaluator.KeyOf(candidate);
    if (machine.recorded() != nullptr && !machine.recorded()->Has(key)) {
      TRY(CheckPlan(name, candidate, task, workload, machine.info()));
    }
    TRY(evaluator.Begin(key, candidate));
    std::optional<Completed> completed = evaluator.Take(key);
    while (!completed) {
      if (Interrupted()) {
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
