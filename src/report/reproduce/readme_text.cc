#include <fmt/format.h>

#include "base/build_info.h"
#include "report/reproduce/quoting.h"
#include "report/reproduce/texts.h"

namespace warpsmith::reproduce {
namespace {

std::string SizesText(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", Plain(name), value);
  }
  return text;
}

std::string SubjectText(const Subject& subject) {
  const Evidence& evidence = subject.verdict.evidence;
  return fmt::format(
      "task         {}\n"
      "             id {}\n"
      "workload     {}: {}\n"
      "candidate    {}\n"
      "             id {}\n"
      "measured on  {} ({}), driver {}\n"
      "date         {}\n"
      "compiled by  {}, for {}\n"
      "libraries    {}\n"
      "protocol     {}\n"
      "measurement  {}\n",
      Plain(subject.task.name), TaskId(subject.task), Plain(subject.workload.name),
      SizesText(subject.workload.sizes), Plain(subject.name), CandidateId(subject.candidate),
      Plain(evidence.device), Plain(evidence.device_uuid), Plain(evidence.driver),
      Plain(evidence.date), Plain(evidence.toolchain), Plain(evidence.architecture),
      Plain(evidence.baseline_library), Plain(evidence.protocol), Plain(subject.key));
}

std::string ModeText(const ModeTiming& mode) {
  std::string text = fmt::format("  {:<12} {:10.3f} us  [{:.3f}, {:.3f}]{}\n", Name(mode.mode),
                                 mode.candidate.median_us, mode.candidate.interval_us.lo,
                                 mode.candidate.interval_us.hi,
                                 mode.below_roofline ? "  BELOW ITS FLOOR: suspicious" : "");
  for (const Comparison& comparison : mode.comparisons) {
    text += fmt::format("    {:.4f}x {} [{:.4f}, {:.4f}]: {}\n", comparison.ratio,
                        Plain(comparison.baseline), comparison.interval.lo, comparison.interval.hi,
                        Name(comparison.finding));
  }
  return text;
}

std::string VerdictText(const Verdict& verdict) {
  std::string text = fmt::format("verdict      {}\n", Plain(Describe(verdict.outcome)));
  if (const auto* passed = std::get_if<Passed>(&verdict.outcome)) {
    for (const Timing& timing : passed->timings) {
      for (const ModeTiming& mode : timing.modes) text += ModeText(mode);
    }
  }
  return text;
}

constexpr char kModes[] = R"(
Modes have the verdict's names:
  device       calls captured in a graph between two CUDA events, inputs in the L2 if it holds
               two sets of buffers
  device-cold  the same with inputs not in the L2
  offline      calls submitted one by one between two CUDA events
  server       one call and the wait for its end, by the host's clock, after a rest of up to
               200 us, inputs not in the L2
  wall         one call after the other, each to its end, by the host's clock. The judge's clock
               for programs is in another process; what the hand-over takes is taken off there
A ratio is the rival's median over the candidate's: above 1 the candidate is faster.
)";

constexpr char kRun[] = R"(
Run it:
  ./reproduce.sh [--seed N] [--samples N] [--gpu INDEX]
It needs nvcc and the libraries of a CUDA toolkit (13 or newer), and a GPU of the architecture
above. It compiles the candidate from candidate/ with the compiler and the flags that were used
for the verdict, builds reproduce.cu and runs it: inputs are drawn from a seed that is printed,
every call takes other buffers than the call before, candidate and rivals take turns, and the
median, the fastest and the slowest time of a call are printed.
)";

constexpr char kLimits[] = R"(
What this does not do, and the judge does:
  - nothing protects you from a hostile candidate: its code runs as you, in the process that
    times it. A program can change clocks, remember buffers, or do its work later.
  - results are not checked for being right. Only whether rivals' outputs agree is printed.
  - outputs and scratch memory are not poisoned between calls, inputs are not watched, and
    contents do not move: a candidate that remembers answers is timed as it is.
  - no intervals, no noise floor, no clocks or temperatures: numbers of one process.
  - inputs come from this folder's own generator, not from the judge's secret seeds.
)";

bool DrawnByReference(const Task& task) {
  for (const TensorSpec& tensor : task.tensors) {
    if (tensor.role == Role::kInput && tensor.generator == Generator::kReference) return true;
  }
  return false;
}

}  // namespace

std::string ReadmeText(const Subject& subject, const Contenders& contenders) {
  std::string text = fmt::format(
      "What warpsmith {} said of a candidate, and how to time it without warpsmith.\n\n",
      build_info::Version());
  text += SubjectText(subject) + VerdictText(subject.verdict);
  text += kRun;
  text += kModes;
  std::string timed;
  for (size_t i = 1; i < contenders.timed.size(); ++i) {
    timed += fmt::format("  {}\n", Plain(contenders.timed[i].name));
  }
  if (!timed.empty()) text += "\nTimed beside the candidate:\n" + timed;
  if (!contenders.callees.empty()) {
    text +=
        "\nPyTorch is a baseline: baseline.py times the task's own code (reference/), eager and\n"
        "compiled, on tensors of the same shapes, by the host's clock: compare with wall. It is\n"
        "run where a Python with torch is found, and divides by the candidate's wall time.\n";
  }
  if (!contenders.absent.empty()) text += "\nNot timed here:\n";
  for (const std::string& absent : contenders.absent) text += "  " + absent + "\n";
  text += kLimits;
  if (DrawnByReference(subject.task)) {
    text +=
        "  - inputs that the task's reference draws itself are N(0, 1) here, whole numbers 0.\n";
  }
  return text;
}

}  // namespace warpsmith::reproduce
