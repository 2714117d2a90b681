// A contest on the wall clock: programs, PyTorch's code, and the plans of kernels that are to be
// compared with PyTorch. Each entrant runs in a process of its own, checked, then timed in bursts of
// calls on the oracle's clock. A candidate's or rival's process is started for one turn and killed
// after it.
#ifndef WARPSMITH_JUDGE_PROGRAM_CONTEST_H_
#define WARPSMITH_JUDGE_PROGRAM_CONTEST_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/artifact.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/burst_run.h"
#include "judge/called_process.h"
#include "judge/contest.h"

namespace warpsmith::judge {

// Which of PyTorch's two ways was the faster, remembered on disk: compiling takes minutes.
class TorchChoice {
 public:
  // A file of CacheHome()/torch-best. `torch` and `device` as in "torch 2.11.0+cu130" and "NVIDIA
  // H200": another version or part chooses anew.
  TorchChoice(const std::string& task_id, const Workload& workload, const std::string& torch,
              const std::string& device);

  struct Times {
    double eager_us = 0;
    std::optional<double> compile_us;  // not everything can be compiled
    std::string Best() const;          // "eager" or "compile"
    double BestUs() const;
    std::string Text() const;  // "eager 38.2 us, compile 41.0 us"
  };
  std::optional<Times> Find() const;
  Status Store(const Times& times) const;

 private:
  std::filesystem::path path_;
};

// Kept with an arena, and gone before it: PyTorch's process, which takes long to start, and which
// of its callees is the better.
struct KeptTorch {
  std::unique_ptr<CalledProcess> process;
  std::map<std::string, std::string> loaded;  // callee -> what it said about itself
  std::map<std::string, double> null_us;      // callee -> what the hand-over of a call takes
  std::optional<OracleCost> oracle;           // the least of all its turns
  std::optional<TorchChoice::Times> choice;
  bool choice_is_new = false;  // made here, and not confirmed yet
};

struct ProgramContext {
  ContestContext contest;
  ProcessOptions program;  // what starts `internal-program`; its start.hidden is filled in here
  std::function<Result<std::unique_ptr<CalledProcess>>()> torch;  // starts PyTorch's process
  std::function<Result<Artifact>(const Candidate&)> compile;      // for rivals, shim included
  KeptTorch* kept = nullptr;
};

Result<Outcome> RunProgramContest(const ProgramContext& context);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_CONTEST_H_
