// A candidate: sources, how to build them, how to launch them, and where they came from.
#ifndef WARPSMITH_CORE_CANDIDATE_H_
#define WARPSMITH_CORE_CANDIDATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/form.h"
#include "core/launch_plan.h"

namespace warpsmith {

// One point of a parametric family: parameter name -> value.
using Config = std::map<std::string, int64_t, std::less<>>;

struct SamplingParameters {
  std::string model;
  double temperature = 0, top_p = 1;
  std::optional<int64_t> seed;
};

// Not part of a candidate's identity.
struct Provenance {
  std::string parent;  // candidate id, or empty
  std::string proposer;
  std::string group;  // proposals made from one prompt or one generation share it (GRPO's group)
  std::string technique;
  std::string family;  // parametric candidates: the family and its point
  Config config;
  std::string prompt_sha256, sample_id;
  std::optional<double> logprob_sum;  // of the sampled tokens, where the model gives it
  std::optional<SamplingParameters> sampling;
};

struct Candidate {
  std::map<std::string, std::string> sources;  // path -> text
  Form form = Form::kKernel;
  std::string entry;                // the source file that is compiled
  std::string toolchain = "nvrtc";  // or "nvcc"
  std::vector<std::string> flags;
  LaunchPlan plan;
  Provenance provenance;
};

// Without its sources and provenance.
Candidate WithoutSources(const Candidate& candidate);

// SHA-256 over sources, form, entry, toolchain, flags and plan.
std::string CandidateId(const Candidate& candidate);

// Bytes of all sources: the L(code) of CUDA-L2's Eq. 3.
int64_t CodeLength(const Candidate& candidate);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_CANDIDATE_H_
