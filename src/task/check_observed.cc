// task check: what a device showed.
#include <algorithm>

#include "task/check.h"

#include <fmt/core.h>

namespace warpsmith::task {
namespace {

constexpr double kLaunchBoundUs = 5;      // below it, the launch itself is most of the time
constexpr double kLooseBoundShare = 0.5;  // of the outputs' deviation

std::string Number(double value) { return fmt::format("{:.3g}", value); }

std::string Gib(int64_t bytes) {
  return Number(static_cast<double>(bytes) / (int64_t{1} << 30)) + " GiB";
}

class Examination {
 public:
  Examination(const Task& task, const TaskObservations& seen) : task_(task), seen_(seen) {}

  std::vector<TaskFinding> Run() {
    Memory();
    if (!seen_.reference_failure.empty()) {
      Add("reference-fails", Severity::kRefuse, seen_.reference_failure,
          "run the reference by itself on these sizes and correct it");
      return std::move(findings_);
    }
    for (const OutputObservation& output : seen_.outputs) {
      Values(output);
      Stability(output);
    }
    for (const std::string& answer : seen_.trivial_answers) Trivial(answer);
    Time();
    return std::move(findings_);
  }

 private:
  void Add(const char* name, Severity severity, const std::string& what, const std::string& fix) {
    findings_.push_back({name, severity, "workload '" + seen_.workload + "': " + what, fix});
  }

  void Memory() {
    if (seen_.available_bytes <= 0 || seen_.needed_bytes <= seen_.available_bytes) return;
    Add("does-not-fit", Severity::kRefuse,
        "judging it needs " + Gib(seen_.needed_bytes) + " of device memory, " +
            Gib(seen_.available_bytes) + " are free",
        "make its sizes smaller, or take a GPU with more memory");
  }

  void Values(const OutputObservation& output) {
    const std::string name = "output " + output.tensor;
    if (output.nonfinite > 0) {
      const bool all = output.nonfinite >= output.elements * seen_.drawings;
      Add("reference-not-finite", all ? Severity::kRefuse : Severity::kOutOfHeadlines,
          name + ": " + (all ? "all" : std::to_string(output.nonfinite)) +
              " expected values are NaN or infinite",
          "draw the inputs from a generator that suits the formula (unit for square roots and "
          "logarithms), or correct the reference");
      if (all) return;
    }
    if (output.largest - output.smallest <= output.typical_bound) {
      Add("constant-output", Severity::kOutOfHeadlines,
          name + " is " + Number(output.smallest) + " everywhere, within its tolerance",
          "choose generators or parameters for which the output varies");
    } else if (output.typical_bound > kLooseBoundShare * output.deviation) {
      Add("loose-tolerance", Severity::kOutOfHeadlines,
          name + " may be off by " + Number(output.typical_bound) + ", and its values differ by " +
              Number(output.deviation) + " (standard deviation)",
          "give a smaller tolerance, best as reduction_length");
    }
    if (seen_.drawings > 1 && output.input_independent) {
      Add("input-independent", Severity::kOutOfHeadlines,
          name + " was the same for " + std::to_string(seen_.drawings) + " drawings of the inputs",
          "let the output depend on the inputs: a candidate could store the answer");
    }
  }

  void Stability(const OutputObservation& output) {
    const std::string name = "output " + output.tensor;
    if (output.repeat_fraction > 1) {
      Add("non-deterministic", Severity::kOutOfHeadlines,
          name + ": the reference differs from itself on the same inputs by " +
              Number(output.repeat_fraction) + " times the tolerance",
          "take randomness (dropout, noise) out of the reference, or make its sums ordered");
    }
    if (output.precision_fraction > 1) {
      Add("imprecise-reference",
          IsNarrow(output.tensor) ? Severity::kNote : Severity::kOutOfHeadlines,
          name + ": in the task's own types the reference is " + Number(output.precision_fraction) +
              " times the tolerance away from its FP64 self",
          "give a tolerance that a correct kernel of this precision can meet, with its reason, or "
          "take out what makes small errors large (differences of near values, thresholds)");
    }
  }

  // Many references round to f16 or bf16 at every step; a kernel that does so only once is right.
  bool IsNarrow(const std::string& name) const {
    for (const TensorSpec& tensor : task_.tensors) {
      if (tensor.name == name) return tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16;
    }
    return false;
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
    const double us = seen_.baseline_us > 0 ? seen_.baseline_us : seen_.roofline_us;
    if (us <= 0 || us >= kLaunchBoundUs) return;
    Add("launch-bound", Severity::kOutOfHeadlines,
        std::string(seen_.baseline_us > 0 ? "its baseline" : "the least possible time") +
            " takes " + Number(us) + " us: the launch itself is most of that",
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
