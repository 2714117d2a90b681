// task check: what a device showed.
#include <algorithm>

#include "task/check.h"

#include <fmt/core.h>

namespace warpsmith::task {
namespace {

constexpr double kLaunchBoundUs = 5;  // below it, the launch itself is most of the time

class Examination {
 public:
  Examination(const Task& task, const TaskObservations& seen) : task_(task), seen_(seen) {}

  std::vector<TaskFinding> Run() {
    if (!seen_.reference_failure.empty()) {
      Add("reference-fails", Severity::kRefuse, seen_.reference_failure,
          "run the reference by itself on these sizes and correct it");
      return std::move(findings_);
    }
    for (const std::string& answer : seen_.trivial_answers) Trivial(answer);
    Time();
    return std::move(findings_);
  }

 private:
  void Add(const char* name, Severity severity, const std::string& what, const std::string& fix) {
    findings_.push_back({name, severity, "workload '" + seen_.workload + "': " + what, fix});
  }

  void Trivial(const std::string& answer) {
    const bool zeros = answer == "zeros";
    Add(zeros ? "zero-friendly" : "trivial-answer", Severity::kOutOfHeadlines,
        answer + " pass" + (zeros ? "" : "es") + " as the answer",
        "give a smaller tolerance, or inputs for which the outputs are farther from it");
  }

  // Hidden workloads are checked, never timed.
  bool IsHidden() const {
    return std::any_of(task_.workloads.begin(), task_.workloads.end(), [&](const Workload& each) {
      return each.name == seen_.workload && each.hidden;
    });
  }

  void Time() {
    if (IsHidden()) return;
    const double us = seen_.roofline_us;
    if (us <= 0 || us >= kLaunchBoundUs) return;
    Add("launch-bound", Severity::kOutOfHeadlines,
        fmt::format("the least possible time is {:.3g} us: the launch itself takes longer", us),
        "make its sizes larger, or take several problems into one launch");
  }

  const Task& task_;
  const TaskObservations& seen_;
  std::vector<TaskFinding> findings_;
};

}  // namespace

std::vector<TaskFinding> Examine(const Task& task, const TaskObservations& observations) {
  return Examination(task, observations).Run();
}

}  // namespace warpsmith::task
