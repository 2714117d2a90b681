// Small bases for tests: what a seed draws from few names, so that two of them overlap.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_TESTS_CONTENTS_H_
#define WARPSMITH_AGENT_KNOWLEDGE_TESTS_CONTENTS_H_

#include <array>
#include <string>

#include "agent/knowledge/facts.h"
#include "base/random.h"
#include "core/step.h"

namespace warpsmith::knowledge {

inline const std::array<std::string, 3> kTestStates = {"memory-latency", "memory-latency/tail",
                                                       "barrier"};
inline const std::array<std::string, 4> kTestTechniques = {"fusion", "padding", "split-k",
                                                           "unrolling"};

inline Context TestContext() { return {"sm_90a", "f16", "nvrtc 13.0", ""}; }

inline Outcome TestOutcome(double log_gain, int64_t step = 0) {
  return {TextOf(StepReference{"run", step}),
          "memory-latency",
          "fusion",
          TestContext(),
          "task",
          log_gain,
          std::nullopt,
          "2026-01-01T00:00:00Z"};
}

inline Outcome TestFailure(Failure failure, int64_t step = 0) {
  Outcome outcome = TestOutcome(0, step);
  outcome.log_gain.reset();
  outcome.failure = failure;
  return outcome;
}

// What step `step` brought, the same in every base that has it.
inline Outcome OutcomeOfStep(int64_t step) {
  Random random(static_cast<uint64_t>(step), "outcome");
  Outcome outcome = TestOutcome(Rounded(0.3 * random.Normal()), step);
  outcome.state = kTestStates.at(random.Below(kTestStates.size()));
  outcome.technique = kTestTechniques.at(random.Below(kTestTechniques.size()));
  outcome.context.architecture = random.Below(3) == 0 ? "sm_80" : "sm_90a";
  outcome.context.dtype = random.Below(3) == 0 ? "f32" : "f16";
  outcome.context.previous = random.Below(2) == 0 ? "" : kTestTechniques.at(random.Below(4));
  outcome.task = "task-" + std::to_string(random.Below(2));
  if (random.Below(3) == 0) {
    outcome.log_gain.reset();
    outcome.failure = static_cast<Failure>(random.Below(kFailures));
  }
  return outcome;
}

inline void AddTestNames(Contents* contents, Random& random) {
  for (const std::string& name : kTestStates) {
    contents->states.push_back({name, random.Below(2) == 0 ? Origin::kKnown : Origin::kDiscovered,
                                "description " + std::to_string(random.Below(2))});
  }
  for (const std::string& name : kTestTechniques) {
    contents->techniques.push_back(
        {name, "what it does " + std::to_string(random.Below(2)), "a page"});
  }
  contents->priors.push_back(
      {"barrier", "fusion", 0.25 * static_cast<double>(random.Below(3)), 0.1, 2, 0.5, "a guess"});
}

// Up to `most_steps` of the steps that OutcomeOfStep knows, in any order, some twice.
inline Contents DrawnContents(uint64_t seed, uint64_t most_steps = 40) {
  Random random(seed, "contents");
  Contents contents;
  AddTestNames(&contents, random);
  for (uint64_t i = random.Below(most_steps); i > 0; --i) {
    contents.outcomes.push_back(OutcomeOfStep(static_cast<int64_t>(random.Below(most_steps))));
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    contents.notes.push_back({kTestStates.at(random.Below(3)), kTestTechniques.at(random.Below(4)),
                              "\"note\" \xc3\xa9 <" + std::to_string(random.Below(3)) + ">\n",
                              "perf-gap-analysis", TextOf(StepReference{"run", 1})});
  }
  return InOrder(std::move(contents)).value();
}

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_TESTS_CONTENTS_H_
