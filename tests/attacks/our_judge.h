// Our judge, asked the way `warpsmith evaluate` asks it: compile, submit, collect.
#ifndef WARPSMITH_TESTS_ATTACKS_OUR_JUDGE_H_
#define WARPSMITH_TESTS_ATTACKS_OUR_JUDGE_H_

#include <string>
#include <vector>

#include "core/compiler.h"
#include "core/device.h"
#include "core/task.h"
#include "task/task_file.h"

namespace warpsmith::attacks {

// Who compiles, and for what.
struct Builder {
  Compiler* compiler = nullptr;
  std::string architecture;
};

// As the judge takes it: a program is compiled with the shim that calls it. An Error means that the
// toolchain could not be used, or that the task does not say how programs are called.
Result<CompileOutcome> Build(const Builder& builder, const Candidate& candidate, const Task& task,
                             const Workload& workload);

struct OurVerdict {
  // "incorrect:poison", "rejected:inputs-modified", "run-failed:CUDA_ERROR_...", "timed-out:check",
  // "compile-failed", "passed", "passed:below-floor", "error: ..." of the harness.
  std::string word;
  std::string detail;
  // Of the first workload, with "passed" only: the candidate's median in each mode, and in the first
  // the ratio to the first baseline (0: there is none).
  std::vector<double> us;
  double ratio = 0;
};

// Rounds as few as a verdict needs: what is asked is whether, not how fast.
Protocol SuiteProtocol(Level level, Form form);

// The candidate's job on a workload, without an artifact.
Job SuiteJob(const Candidate& candidate, const task::LoadedTask& loaded, const Workload& workload,
             Level level);

// On every workload of the task, hidden ones too: the first verdict that is not Passed, or the
// first workload's. A device that needs no artifacts (a server) compiles by itself.
OurVerdict AskOurs(const Builder& builder, const Candidate& candidate,
                   const task::LoadedTask& loaded, Level level, Device& device);

// "incorrect:poison" of an outcome; a Passed is "passed" or "passed:below-floor".
std::string WordOf(const Outcome& outcome);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_OUR_JUDGE_H_
