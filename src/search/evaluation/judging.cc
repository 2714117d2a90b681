#include "search/evaluation/judging.h"

#include <algorithm>
#include <chrono>

#include "judge/problem.h"

namespace warpsmith::search {
namespace {

// The same error, told with the place that it is about.
Error At(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return error;
}

report::Progress StateOf(const std::vector<JudgedCandidate>& judged,
                         const std::vector<task::NamedCandidate>& named, double elapsed_s) {
  report::Progress progress;
  progress.label = "judging " + named[std::min(judged.size(), named.size() - 1)].first;
  progress.evaluations = static_cast<int64_t>(judged.size());
  progress.planned = static_cast<int64_t>(named.size());
  progress.best_ratio = -1;
  progress.seconds_left = report::SecondsLeft(elapsed_s, judged.size(), named.size());
  progress.more = report::DurationText(elapsed_s) + " so far";
  return progress;
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
                                                     const SessionOptions& options,
                                                     report::ProgressLine* line) {
  std::vector<Candidate> candidates;
  for (const auto& [name, candidate] : named) {
    TRY(task::CheckForm(name, candidate, loaded.task));
    candidates.push_back(candidate);
  }
  std::vector<JudgedCandidate> judged;
  SessionOptions watched = options;
  if (line != nullptr) {
    const auto start = std::chrono::steady_clock::now();
    watched.stop = [&, start] {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (elapsed.count() > 1)
        line->Update(StateOf(judged, named, elapsed.count()), elapsed.count());
      return options.stop && options.stop();
    };
  }
  Session session({loaded.task, loaded.workload, protocol}, TRY(machine.seams()), watched);
  const auto all = session.Evaluate(candidates, [&](const Judged& one) -> Result<bool> {
    judged.push_back({named[judged.size()].first, one});
    return true;
  });
  if (line != nullptr) line->Clear();
  if (all.ok() && *all) return judged;
  const std::string& next = named[judged.size()].first;
  if (all.ok()) return Error{ErrorCode::kInterrupted, "stopped while judging " + next, ""};
  // What is wrong with a candidate is told with its name.
  return all.error().code == ErrorCode::kBadInput ? At(next, all.error()) : all.error();
}

}  // namespace warpsmith::search
