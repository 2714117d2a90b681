// The judge that most harnesses are: the same inputs from a fixed seed at every call, one output
// buffer, some warm-up, events around a loop, allclose at the end, all in the candidate's process.
// Every attack must fool it before it is worth showing that ours is not fooled.
#ifndef WARPSMITH_TESTS_ATTACKS_NAIVE_JUDGE_H_
#define WARPSMITH_TESTS_ATTACKS_NAIVE_JUDGE_H_

#include <string>

#include "attack.h"
#include "core/task.h"

namespace warpsmith::attacks {

// The hidden subcommand: `attack_suite internal-naive <job file>`.
inline constexpr char kNaiveSubcommand[] = "internal-naive";
int NaiveMain(const char* job_file);

struct NaiveVerdict {
  // "passed", "failed", "died", "timed-out", "compile-failed", or "error: ..." of the harness.
  std::string word;
  double us = 0;  // per call; with "passed" only
};

struct NaiveQuestion {
  const Task* task = nullptr;
  const Workload* workload = nullptr;
  const Candidate* candidate = nullptr;
  const Artifact* artifact = nullptr;  // the candidate's image
  const Candidate* reference = nullptr;
  const Artifact* reference_artifact = nullptr;
  ReferenceOrder order = ReferenceOrder::kBefore;
  double tolerance = 1e-2;
};

// What computes the expected outputs here: the task's own CUDA reference, or for the built-in
// matrix product the honest kernel at `gemm`.
Result<Candidate> ReferenceCandidate(const Task& task, const std::filesystem::path& gemm);

// In a child process with a time limit; says what that child printed, which is naive too.
NaiveVerdict AskNaive(const NaiveQuestion& question);

}  // namespace warpsmith::attacks

#endif  // WARPSMITH_TESTS_ATTACKS_NAIVE_JUDGE_H_
