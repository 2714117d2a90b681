// A base with something of everything, for tests of what shows it. The figures are made up, and
// some strings are what a hostile model would like to see in a page.
#ifndef WARPSMITH_REPORT_SAMPLE_KNOWLEDGE_H_
#define WARPSMITH_REPORT_SAMPLE_KNOWLEDGE_H_

#include "agent/knowledge/contents.h"
#include "core/step_reference.h"
#include "report/sample_report.h"

namespace warpsmith::report {

inline knowledge::Outcome SampleOutcome(int64_t step, const char* technique, const char* previous,
                                        const char* architecture, double log_gain) {
  return {TextOf(StepReference{"softmax", step}),
          "memory-latency",
          technique,
          {architecture, "f16", "nvrtc 13.0", previous},
          "5f2c",
          knowledge::Rounded(log_gain),
          std::nullopt,
          "2026-11-21T10:00:00Z"};
}

inline knowledge::Contents SampleKnowledge() {
  knowledge::Contents contents;
  contents.states = {{"memory-latency", knowledge::Origin::kKnown, "warps wait for memory"},
                     {"barrier", knowledge::Origin::kKnown, "warps wait for each other"},
                     {"odd-one", knowledge::Origin::kDiscovered, std::string("says <b>&")}};
  contents.techniques = {{"fusion", "one kernel instead of two", "CUDA guide"},
                         {"padding", "rows of shared memory made longer", "CUDA guide"},
                         {"wide-loads", "16 bytes a load", "CUDA guide"}};
  contents.priors = {{"barrier", "fusion", 0.2, 0.1, 2, 0.9, "a guess"}};
  for (int64_t step = 0; step < 6; ++step) {
    const double noise = 0.01 * static_cast<double>(step);
    contents.outcomes.push_back(
        SampleOutcome(step, "wide-loads", step % 2 == 0 ? "fusion" : "", "sm_90a", 0.25 + noise));
    contents.outcomes.push_back(
        SampleOutcome(step + 10, "fusion", "", step < 4 ? "sm_80" : "sm_90a", 0.1 - noise));
  }
  knowledge::Outcome hang = SampleOutcome(20, "padding", "fusion", "sm_90a", 0);
  hang.log_gain.reset();
  hang.failure = knowledge::Failure::kHang;
  contents.outcomes.push_back(hang);
  contents.notes = {{"memory-latency", "padding", "waits for a block that never starts",
                     "perf-gap-analysis", hang.evidence},
                    {"barrier", "", "</script><script>alert(1)</script>", "person", ""}};
  return knowledge::InOrder(std::move(contents)).value();
}

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_SAMPLE_KNOWLEDGE_H_
