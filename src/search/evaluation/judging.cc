#include "search/evaluation/judging.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "base/caught.h"
#include "core/program_shim.h"
#include "judge/resolved_task.h"
#include "task/candidate_file.h"
#include "task/task_file.h"

namespace warpsmith::search {
namespace {

namespace fs = std::filesystem;

bool IsNoCandidate(const fs::path& folder) {
  return folder.filename() == "current" || folder.filename() == "reference";
}

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

Status CompileAll(Compiler& compiler, const std::string& architecture,
                  const std::vector<SuiteEntry>& entries, const std::stop_token& stop) {
  for (const SuiteEntry& entry : entries) {
    if (stop.stop_requested()) break;
    const auto loaded = task::LoadTask(entry.task.string());
    const auto candidates = task::LoadCandidates({entry.candidate.string()});
    if (!loaded.ok() || !candidates.ok()) continue;
    for (const auto& [name, candidate] : *candidates) {
      const auto built = WithProgramShim(candidate, loaded->task, loaded->workload);
      if (built.ok()) (void)compiler.Compile(*built, architecture);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<SuiteEntry>> FindEntries(const fs::path& root) {
  std::set<fs::path> tasks, candidates;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(root, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().filename() == "task.toml") tasks.insert(at->path().parent_path());
    if (at->path().filename() != "candidate.toml") continue;
    if (!IsNoCandidate(at->path().parent_path())) candidates.insert(at->path().parent_path());
  }
  if (failed) {
    return Error{ErrorCode::kNoInput, root.string() + ": " + failed.message(),
                 "give --many a folder"};
  }
  std::vector<SuiteEntry> entries;
  for (const fs::path& candidate : candidates) {
    fs::path above = candidate;
    while (above != root && !tasks.contains(above)) above = above.parent_path();
    if (tasks.contains(above)) entries.push_back({above, candidate});
  }
  if (entries.empty()) {
    return Error{ErrorCode::kBadInput,
                 root.string() +
                     ": no task.toml with a candidate.toml below it (those of folders "
                     "named 'current' or 'reference' are none)",
                 "see docs/tasks.md, or warpsmith task import"};
  }
  return entries;
}

std::jthread CompileAhead(Compiler& compiler, std::string architecture,
                          std::vector<SuiteEntry> entries) {
  return std::jthread([&compiler, architecture = std::move(architecture),
                       entries = std::move(entries)](const std::stop_token& stop) {
    // What fails here fails again where it is told.
    (void)Caught([&] { return CompileAll(compiler, architecture, entries, stop); });
  });
}

Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload) {
  task::LoadedTask loaded = TRY(task::LoadTask(reference, workload));
  const Status checked = judge::CheckTask(loaded.task, loaded.workload);
  if (!checked.ok()) return At(reference, checked.error());
  return loaded;
}

SessionOptions EvaluationOptions() {
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
