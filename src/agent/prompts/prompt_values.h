// What prompts say of tasks and candidates. A hidden workload is never among it.
#ifndef WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_
#define WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "core/candidate.h"
#include "core/device.h"
#include "core/form.h"
#include "core/launch_plan.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith::prompts {

// {{task_facts}}: tensors, sizes of the workloads that are not hidden, tolerance, how a program is
// called, what it may use. Lines of plain text, foreign names in them.
std::string TaskFacts(const Task& task);

// {{reference}}: the sources under their names, or what is built in.
std::string ReferenceText(const Task& task);

// {{sources}}: each file under its name in a fence that it cannot close.
std::string SourcesText(const std::map<std::string, std::string>& sources);

// {{plan}}: JSON, or that there is none.
std::string PlanText(Form form, const LaunchPlan& plan);

// {{reply_format}} for candidates of this form, and what of the code shown a reply may leave out.
enum class MayKeep { kNothing, kPlan, kPlanAndLines };
std::string ReplyFormat(Form form, MayKeep kept);

// {{known_states}}: one line each.
std::string KnownStatesText();

// --- What a candidate changed, as lines that a model reads.

// Lines taken out ("-") and put in ("+") with two lines around each change, "@@" between changes
// that lie apart; empty for equal texts. Takes time in proportion to the product of the lines that
// differ, so from a few thousand on all of them are shown as replaced.
std::string LineDiff(std::string_view before, std::string_view after);

// Of each file that differs, under its name; at most `most_bytes`, and then it says that more
// follows.
std::string SourcesDiff(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after, size_t most_bytes);

// --- The contrastive prompt (CUDA-L1, section 3.3): variants of a program with their scores, drawn
// so that they differ in score. The agent asks with it, and the server hands it to trainers.

struct ExemplarRule {
  size_t most = 3;
  double bucket = 0.1;  // scores (log ratios) in one such step count as one
  double tau = 0.2;     // the temperature; above 0
};
// Indices into `scores`, the best score first: buckets of scores are drawn without putting them
// back, each with P proportional to exp((its mean score - the mean of all) / tau), and one member
// of each, all alike. Scores are finite.
std::vector<size_t> DrawExemplars(std::span<const double> scores, const ExemplarRule& rule,
                                  Random& random);

struct Variant {
  const Candidate* candidate = nullptr;
  std::optional<double> ratio;  // to the bar
  Interval interval;            // of the ratio
};
// A section each, the best first. A file that an earlier variant has too is named, not repeated.
// `as_configurations`: a variant that a kernel family made is shown as its point alone.
std::string VariantsText(std::span<const Variant> variants, bool as_configurations);

struct Contrast {
  std::string device;
  std::string task_name, facts, reference;  // prompt_values.h
  Form form = Form::kKernel;
  std::vector<Variant> variants;   // the best first
  std::string profile, documents;  // text; empty: left out
  int attempt = 1;
  MayKeep kept = MayKeep::kPlan;
  std::string configurations = {};  // what a configuration may be; empty: replies are code
};
// Without variants: the prompt for a first kernel.
std::string ContrastivePrompt(const Contrast& contrast);

// "NVIDIA H200 (sm_90a)", {{device}}.
std::string DeviceText(const DeviceInfo& device);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_PROMPT_VALUES_H_
