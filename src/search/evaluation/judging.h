// What every command that judges candidates of a task begins with, and how it judges them.
#ifndef WARPSMITH_SEARCH_EVALUATION_JUDGING_H_
#define WARPSMITH_SEARCH_EVALUATION_JUDGING_H_

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"
#include "report/terminal.h"
#include "search/machine/machine.h"
#include "search/session.h"
#include "task/task_file.h"

namespace warpsmith::search {

struct JudgedCandidate {
  std::string name;  // of the candidate, for a person
  Judged judged;

  const Verdict& verdict() const { return judged.step.verdict; }
};

// A task that can be judged: what the judge could never judge (judge::CheckTask) is refused, in
// words that name `reference`, before anything is measured.
Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload);

// What a session of `evaluate` does: its verdicts go into the store, and what passes is judged on
// the task's hidden workloads, too.
SessionOptions EvaluationOptions();

// Every candidate judged on the loaded workload, in order, under the protocol for its form.
// kInterrupted, naming the candidate that was next, where the session was stopped before its end.
// `line`, where there is one, says from the second second on which candidate is waited for.
Result<std::vector<JudgedCandidate>> JudgeCandidates(
    Machine& machine, const task::LoadedTask& loaded, const Protocol& protocol,
    const std::vector<task::NamedCandidate>& named,
    const SessionOptions& options = EvaluationOptions(), report::ProgressLine* line = nullptr);

// Folders of tasks with their candidates.
struct SuiteEntry {
  std::filesystem::path task, candidate;
};

// Below `root`, every folder with a task.toml is a task, and every candidate.toml below it a
// candidate of it (a folder named "current" or "reference" is none); in the order of their paths.
Result<std::vector<SuiteEntry>> FindEntries(const std::filesystem::path& root);

// Compiles what comes next while the device is at work, so that the judge finds it in the cache; until
// the thread is asked to stop, as its end does. `compiler` outlives it.
std::jthread CompileAhead(Compiler& compiler, std::string architecture,
                          std::vector<SuiteEntry> entries);

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_EVALUATION_JUDGING_H_
