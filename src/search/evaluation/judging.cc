#include "search/evaluation/judging.h"

#include "judge/problem.h"

namespace warpsmith::search {
namespace {

// The same error, told with the place that it is about.
Error At(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return error;
}

}  // namespace

Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload) {
  task::LoadedTask loaded = TRY(task::LoadTask(reference, workload));
  const Status checked = judge::CheckTask(loaded.task, loaded.workload);
  if (!checked.ok()) return At(reference, checked.error());
  return loaded;
}

SessionOptions OnTheTask() {
  SessionOptions options;
  options.keeps_verdicts = true;
  options.checks_hidden = true;
  return options;
}

Result<std::vector<JudgedCandidate>> JudgeCandidates(Machine& machine,
                                                     const task::LoadedTask& loaded,
                                                     const Protocol& protocol,
                                                     const std::vector<task::NamedCandidate>& named,
                                                     const SessionOptions& options) {
  std::vector<Candidate> candidates;
  for (const auto& [name, candidate] : named) {
    TRY(task::CheckForm(name, candidate, loaded.task));
    candidates.push_back(candidate);
  }
  Session session({loaded.task, loaded.workload, protocol}, TRY(machine.seams()), options);
  std::vector<JudgedCandidate> judged;
  const auto all = session.Evaluate(candidates, [&](const Judged& one) -> Result<bool> {
    judged.push_back({named[judged.size()].first, one});
    return true;
  });
  if (all.ok() && *all) return judged;
  const std::string& next = named[judged.size()].first;
  if (all.ok()) return Error{ErrorCode::kInterrupted, "stopped while judging " + next, ""};
  // What is wrong with a candidate is told with its name.
  return all.error().code == ErrorCode::kBadInput ? At(next, all.error()) : all.error();
}

}  // namespace warpsmith::search
