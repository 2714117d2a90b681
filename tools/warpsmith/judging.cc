#include "judging.h"

#include "optimize/evaluator.h"
#include "task/task_file.h"
#include "util/interrupt.h"

namespace warpsmith::cli {

Result<std::vector<Judged>> JudgeAll(Machine& machine, const Task& task, const Workload& workload,
                                     const Protocol& protocol,
                                     const std::vector<std::pair<std::string, Candidate>>& named) {
  store::SqliteStore* store = TRY(machine.store());
  optimize::Evaluator evaluator({task, workload, protocol}, machine.loop_compiler(), 1,
                                machine.device(), *store);
  std::vector<Judged> judged;
  for (const auto& [name, candidate] : named) {
    const std::string key = evaluator.KeyOf(candidate);
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
