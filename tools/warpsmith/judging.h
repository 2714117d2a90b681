// One question to the judge: compile, submit, wait for the verdict.
#ifndef WARPSMITH_TOOLS_JUDGING_H_
#define WARPSMITH_TOOLS_JUDGING_H_

#include <functional>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "machine.h"
#include "task/task_file.h"

namespace warpsmith::cli {

struct Judged {
  std::string name;  // of the candidate, for a person
  Candidate candidate;
  Completed completed;
};

// A task that can be judged: what the judge could never judge (another reference, shapes that do
// not fit together, expressions that fail for the workload) is refused before anything is measured.
Result<task::LoadedTask> LoadJudgeable(const std::string& reference, const std::string& workload);

// kBadInput where the candidate's plan cannot be carried out for the workload. A judge that
// measures finds that out itself, as a verdict; a replay never gets to the plan.
Status CheckPlan(const std::string& name, const Candidate& candidate, const Task& task,
                 const Workload& workload, const DeviceInfo& device);

// Asked often: kInterrupted once it says so, but what the device has begun is waited for and kept.
using Stop = std::function<bool()>;

// In order. Verdicts go into the store; what it knows is not measured again.
Result<std::vector<Judged>> JudgeAll(Machine& machine, const Task& task, const Workload& workload,
                                     const Protocol& protocol,
                                     const std::vector<std::pair<std::string, Candidate>>& named,
                                     const Stop& stop = {});

// Every candidate judged on the loaded workload, under the protocol for its form. One that passes
// is judged on the task's hidden workloads too: where it fails on one, that is its verdict
// ("hidden-workload"); sizes that its plan declares it is not for are left out.
Result<std::vector<Judged>> JudgeOnTask(Machine& machine, const task::LoadedTask& loaded,
                                        const Protocol& protocol,
                                        const std::vector<std::pair<std::string, Candidate>>& named,
                                        const Stop& stop = {});

// candidate.toml files or folders -> every candidate in them, named "path" or "path: point".
Result<std::vector<std::pair<std::string, Candidate>>> LoadCandidates(
    const std::vector<std::string>& paths);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_JUDGING_H_
