// The judge's answer. Performance exists only inside Passed.
#ifndef WARPSMITH_CORE_VERDICT_H_
#define WARPSMITH_CORE_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/artifact.h"
#include "core/protocol.h"

namespace warpsmith {

// Against the rules, whatever it computes: writable globals, touched inputs, guard bytes
// overwritten...
struct Rejected {
  std::string rule, detail;
};
// The rule of a model's reply that says why a technique cannot apply: there was nothing to judge.
inline constexpr std::string_view kDeclinedRule = "declined";

// The candidate's own launch or kernel failed: the call, its code, the argument that matters.
struct RunFailed {
  std::string call, code, detail;
};

struct TimedOut {
  std::string step;
  int64_t limit_ms = 0;
};

// One check that the output failed. `detector` is one of: "bound", "poison" (stale or unwritten),
// "nan", "zero-one", "fp16-accumulate", "bf16-accumulate", "adversarial", "bias",
// "nondeterministic-wrong".
struct Incorrect {
  std::string detector, detail;
  double error = 0, bound = 0;  // at the worst element; bound 0: exact
  int64_t element = -1;         // its index in the output
};

// Harness trouble or noise: no statement about the candidate.
struct Inconclusive {
  std::string reason;
};

struct Interval {
  double lo = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};

// What was measured, and the interval that holds it with the confidence that its user names.
struct Estimate {
  double value = 0;
  Interval interval;
};

// On which side of the reference the outputs lie. The unit is half a unit in the last place of the
// output's type at the reference: rounding to nearest errs by at most 1 and by 0 on average.
struct Bias {
  int64_t elements = 0;  // of outputs to different inputs; zeros, NaN and infinities left out
  // Means over the elements, with 99 % intervals.
  Estimate magnitude;  // of sign(ref) (out - ref): cutting digits off gives -1
  Estimate value;      // of out - ref: rounding down gives -1
  double allowed = 0;  // how far from 0 a mean may be; 0: nobody knows, and none is refused
};

// With this probability, a candidate that is wrong once in so many launches, at random, would have
// been caught by the launches that were verified.
struct RareError {
  int64_t once_in = 0;
  double caught = 0;
};

// Largest |out_FP32 - out| of each verified round: Eq. 3's raw deviations.
struct Correctness {
  std::vector<double> max_deviation;
  double worst_bound_fraction = 0;  // max over elements of error / bound; <= 1 in a Passed
  bool deterministic = true;
  int64_t outputs_verified = 0;
  std::vector<std::string> detectors;  // checks that ran
  std::vector<std::string> absent;     // tools that were missing or unable, and why
  // An answer that needs no work and that the task's check takes for right: "zeros". Such a task
  // measures little; summaries leave it out.
  std::string degenerate = {};
  std::optional<Bias> bias = {};            // where the reference is finer than the output's type
  std::vector<RareError> rare_errors = {};  // of a certified verdict
};

// One timed batch. us is per launch.
struct Sample {
  int process = 0, round = 0;
  float us = 0;
  float sm_mhz = 0, temperature_c = 0, power_w = 0;  // 0: not read
};

struct ContenderTiming {
  std::string name;  // "candidate", or a baseline's name, or "<baseline>/again" (A/A)
  double median_us = 0;
  Interval interval_us;
  std::vector<Sample> samples;
  double gpu_busy_us = 0;  // per call, as CUPTI says in the contender's own process; 0: not read
};

enum class Finding : uint8_t { kFaster, kSlower, kSame, kNotShown };
std::string_view Name(Finding finding);

// ratio = baseline time / candidate time: above 1 the candidate is faster. Paired by round.
struct Comparison {
  std::string baseline;
  double ratio = 0;
  Interval interval;
  Finding finding = Finding::kNotShown;
};

struct ModeTiming {
  Mode mode = Mode::kDeviceHot;
  double roofline_us = 0;  // no kernel can be faster in this mode
  double aa_noise = 0;     // |ratio - 1| that the baseline showed against itself; 0: not measured
  bool below_roofline = false;  // suspicious: for a person to look at, never a headline
  ContenderTiming candidate;
  std::vector<ContenderTiming> baselines;
  std::vector<Comparison> comparisons;
};

struct Timing {
  std::string workload;
  std::vector<ModeTiming> modes;
};

// What an audit of a certified verdict found. Something found makes the outcome Rejected, so a
// Passed holds clean and absent ones only.
enum class AuditStatus : uint8_t { kClean, kAbsent };
struct AuditReport {
  std::string tool;  // "memcheck", "initcheck", "racecheck", "opcodes", "imports", "activity"
  AuditStatus status = AuditStatus::kAbsent;
  std::string detail;  // what was looked at, or why the tool is absent
};

struct KernelProfile {
  std::string kernel;
  std::vector<std::pair<std::string, double>> metrics;  // absent metrics are absent, not 0
};
struct Profile {
  std::string source;                  // "ncu 2025.3", "cupti", "static"
  std::vector<KernelProfile> kernels;  // in execution order
};

struct Passed {
  Level level = Level::kScreened;
  Correctness correctness;
  std::vector<Timing> timings;
  std::optional<Profile> profile;
  std::vector<AuditReport> audits;
};

using Outcome =
    std::variant<CompileFailed, Rejected, RunFailed, TimedOut, Incorrect, Inconclusive, Passed>;

// Where and with what a verdict came about. Never part of its key.
struct Evidence {
  std::string device, device_uuid, driver, toolchain, architecture, artifact_sha256;
  std::string baseline_library;  // "cuBLASLt 13.1.0"
  std::string reference;         // how expected outputs were computed: "computed in f64"
  std::string baseline_choice;   // of torch-best: "eager 38.2 us, compile 41.0 us"
  std::string protocol;          // ProtocolId
  std::string sandbox;           // the level that the candidate's process reached: "L0", "L1", "L2"
  std::string date;              // UTC
  std::vector<KernelResources> kernels;
  double compile_ms = 0, judge_ms = 0;
};

struct Verdict {
  Outcome outcome = Inconclusive{"not judged"};
  Evidence evidence;
};

std::string_view OutcomeName(const Outcome& outcome);  // "passed", "incorrect", ...
std::string Describe(const Outcome& outcome);          // one line for a person

// The times of the baseline that the first comparison names, the primary one; null: there is none.
const ContenderTiming* PrimaryOf(const ModeTiming& timing);
// The mode's timing of the first workload of a Passed, or null.
const ModeTiming* FindTiming(const Verdict& verdict, Mode mode);
// The mode's timing, when it was compared with a baseline; else the first mode's that was (PyTorch
// is compared on the wall clock only); else null.
const ModeTiming* FindComparison(const Verdict& verdict, Mode mode);
// Ratio to the bar (the first comparison) there; nullopt when not passed or not compared.
std::optional<double> RatioToPrimary(const Verdict& verdict, Mode mode);

// By what one verdict is preferred to another when few rounds were measured.
// The smaller of the paired ratio to the bar and of the ratio of the two medians: one disturbed
// round of the bar moves the first and not the second. Without a median of ours: the paired one.
double CautiousRatio(double paired, double candidate_us, double primary_us);

// Of the verdict's first comparison. Nullopt when not passed or not compared.
std::optional<double> RankingRatio(const Verdict& verdict, Mode mode);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_VERDICT_H_
