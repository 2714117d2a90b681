// The contrastive prompt (CUDA-L1, section 3.3): variants of a program with their scores, drawn so
// that they differ in score. The agent asks with it, and the server hands it to trainers.
#ifndef WARPSMITH_AGENT_PROMPTS_CONTRASTIVE_H_
#define WARPSMITH_AGENT_PROMPTS_CONTRASTIVE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/prompts/prompt_values.h"
#include "base/random.h"
#include "core/candidate.h"
#include "core/device.h"
#include "core/verdict.h"

namespace warpsmith::prompts {

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
struct Contrast {
  std::string device;
  std::string task_name, facts, reference;  // prompt_values.h
  Form form = Form::kKernel;
  std::vector<Variant> variants;   // the best first
  std::string profile, documents;  // text; empty: there is none
  int attempt = 1;
  MayKeep kept = MayKeep::kPlan;
};
// Without variants: the prompt for a first kernel.
std::string ContrastivePrompt(const Contrast& contrast);

// "NVIDIA H200 (sm_90a)", {{device}}.
std::string DeviceText(const DeviceInfo& device);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_CONTRASTIVE_H_
