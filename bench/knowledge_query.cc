// A query of a knowledge base of 100,000 outcomes: recall, believe, draw (at most 2 ms is wanted).
// Recording one outcome and rendering a prompt beside it.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/render.h"
#include "base/file.h"
#include "core/step.h"

namespace warpsmith {
namespace {

constexpr int64_t kOutcomes = 100'000;

// A base grown from the seed: outcomes over all its states and techniques, after any technique, on
// three architectures and two dtypes.
struct Fixture {
  TemporaryDirectory folder = TemporaryDirectory::Create("bench").value();
  std::unique_ptr<knowledge::KnowledgeBase> base;
  knowledge::Contents contents = knowledge::Seed();
  std::vector<std::string> techniques;
  Random random{1, "bench"};
  int64_t next = 0;

  Fixture() {
    base = knowledge::KnowledgeBase::Open(folder.path() / "kb.sqlite",
                                          store::Durability::kProcessDeath,
                                          store::WhenMissing::kCreate)
               .value();
    for (const auto& technique : contents.techniques) techniques.push_back(technique.name);
    while (next < kOutcomes) contents.outcomes.push_back(Next());
    base->Take(contents).value();
  }

  knowledge::Outcome Next() {
    constexpr const char* kArchitectures[] = {"sm_90a", "sm_90a", "sm_80", "sm_89"};
    knowledge::Outcome outcome;
    outcome.evidence = TextOf(StepReference{"run", next++});
    outcome.state = contents.states[random.Below(contents.states.size())].name;
    outcome.technique = techniques[random.Below(techniques.size())];
    outcome.context = {kArchitectures[random.Below(4)], random.Below(2) == 0 ? "f16" : "f32",
                       "nvrtc 13.0", techniques[random.Below(techniques.size())]};
    outcome.task = "task-" + std::to_string(random.Below(100));
    if (random.Below(4) == 0) {
      outcome.failure = static_cast<knowledge::Failure>(random.Below(knowledge::kFailures));
    } else {
      outcome.log_gain = knowledge::Rounded(0.2 * random.Normal());
    }
    return outcome;
  }
};

Fixture& Shared() {
  static Fixture fixture;
  return fixture;
}

knowledge::Situation Here() {
  return {"memory-latency/small-grid", {"sm_90a", "f16", "nvrtc 13.0", "split-k"}, "task-7"};
}

void BM_QueryOf100000Outcomes(benchmark::State& state) {
  Fixture& fixture = Shared();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        fixture.base->Draw(Here(), fixture.techniques, 3, fixture.random).value());
  }
  state.counters["cells"] = static_cast<double>(fixture.base->Cells().value().size());
}
BENCHMARK(BM_QueryOf100000Outcomes)->Unit(benchmark::kMillisecond);

void BM_RecordOneOutcome(benchmark::State& state) {
  Fixture& fixture = Shared();
  for (auto _ : state) benchmark::DoNotOptimize(fixture.base->Record(fixture.Next()).value());
}
BENCHMARK(BM_RecordOneOutcome)->Unit(benchmark::kMillisecond);

void BM_RenderPrompt(benchmark::State& state) {
  Fixture& fixture = Shared();
  for (auto _ : state) {
    const auto page = knowledge::PageFor(*fixture.base, Here()).value();
    benchmark::DoNotOptimize(knowledge::Render(page));
  }
}
BENCHMARK(BM_RenderPrompt)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpsmith
