// What the agent costs beside model and GPU: whole runs with a model that answers at once and a
// device that knows its verdicts, every step stored and taught to the user's base (at most 20 ms a
// step is wanted). The argument is the size of the base that the run begins with.
#include <benchmark/benchmark.h>

#include <atomic>
#include <string>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/maic_proposer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "core/step.h"
#include "search/loop.h"
#include "store/run_memos.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith {
namespace {

constexpr int64_t kSteps = 40;

// Code of a usual length, the same in no two replies; reviews and doubts as they are asked.
class InstantModel : public ChatModel {
 public:
  Result<ChatReply> Complete(const ChatRequest& request) override {
    const std::string number = std::to_string(next_++);
    std::string text;
    if (request.role == "review") {
      text =
          "{\"cause\": \"c\", \"evidence\": [], \"verdict\": \"noise\", \"next\": null, "
          "\"note\": \"note " +
          number + "\", \"when\": null, \"replaces\": null}";
    } else if (request.role == "doubts") {
      text = "{\"doubts\": []}";
    } else {
      text = "```cuda kernel.cu\n// " + number + "\n";
      for (int line = 0; line < 300; ++line) text += "  // a line of a kernel of usual length\n";
      text +=
          "extern \"C\" __global__ void k(const half* A) {}\n```\n```json plan.json\n"
          "{\"version\": 1, \"operations\": [{\"type\": \"launch\", \"kernel\": \"k\", "
          "\"grid\": [1, 1, 1], \"block\": [128, 1, 1], \"arguments\": [{\"tensor\": \"A\"}]}]}"
          "\n```\n";
    }
    return ChatReply{{{text, "stop"}}, {4000, 2000, false}, "instant"};
  }

 private:
  std::atomic<int> next_ = 0;
};

// Passed, with times as if drawn from a hat.
store::AnsweringDevice InstantDevice() {
  const auto answer = [random = Random(1, "device")](const Job& /*job*/) mutable {
    const double us = 5 + 10 * random.Uniform();
    Verdict verdict{store::TestPassed(random, us), {}};
    verdict.evidence.toolchain = "nvrtc 13.0";
    return verdict;
  };
  return {answer, 0};
}

knowledge::Contents BaseOf(int64_t outcomes) {
  knowledge::Contents contents = knowledge::Seed();
  Random random(1, "base");
  for (int64_t i = 0; i < outcomes; ++i) {
    knowledge::Outcome outcome;
    outcome.evidence = TextOf(StepReference{"before", i});
    outcome.state = contents.states[random.Below(contents.states.size())].name;
    outcome.technique = contents.techniques[random.Below(contents.techniques.size())].name;
    outcome.context = {"sm_90a", "f16", "nvrtc 13.0",
                       contents.techniques[random.Below(contents.techniques.size())].name};
    outcome.task = "task-" + std::to_string(random.Below(100));
    outcome.log_gain = knowledge::Rounded(0.2 * random.Normal());
    contents.outcomes.push_back(std::move(outcome));
  }
  return contents;
}

// Two kernels with counters: states, shares and profiles in every prompt.
Result<Profile> TakeProfile(const Candidate& /*candidate*/) {
  const std::vector<std::pair<std::string, double>> metrics = {
      {"gpu__time_duration.sum", 60'000},
      {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 82},
      {"sm__throughput.avg.pct_of_peak_sustained_elapsed", 30}};
  return Profile{"ncu 2025.3", {{"first", metrics}, {"second", metrics}}};
}

void RunOnce(const std::filesystem::path& folder, const knowledge::Contents& contents,
             benchmark::State& state) {
  auto store =
      store::DatabaseStore::Open(folder / "store.db", store::Durability::kPowerLoss).value();
  auto base = knowledge::KnowledgeBase::Open(folder / "kb.db", store::Durability::kPowerLoss,
                                             store::WhenMissing::kCreate)
                  .value();
  base->Take(contents).value();
  InstantModel model;
  store::AnsweringDevice device = InstantDevice();
  store::RunMemos memos(*store, "run");

  agent::RunSetup setup;
  setup.run = "run";
  setup.task = store::TestTask();
  setup.workload = store::TestWorkload();
  setup.device = device.Info();
  setup.run_config.batch = setup.run_config.settings.breadth;
  setup.run_config.start = store::TestCandidate(store::TestSpace(1).points().front());
  const int batch = setup.run_config.batch;
  agent::Services services;
  services.models = {{"", &model}};
  services.take_profile = TakeProfile;
  services.knowledge = [&] { return base->Read(); };
  services.users_base = base.get();
  services.memos = &memos;
  agent::MaicProposer proposer(std::move(setup), std::move(services));

  search::LoopRequest request;
  request.run = {"run",
                 "",
                 store::TestTask(),
                 store::TestWorkload(),
                 Protocol::Screened(),
                 "agent",
                 1,
                 batch,
                 device.Info(),
                 ""};
  request.budget.evaluations = kSteps;
  request.worker = store::ThisWorker();
  double first_s = 0;
  search::LoopCallbacks callbacks;
  callbacks.on_progress = [&](const search::Progress&) {
    if (first_s == 0) first_s = MonotonicSeconds();
  };
  const auto result = search::RunLoop(request, proposer, nullptr, device, *store, callbacks);
  if (!result.ok()) state.SkipWithError(result.error().Line().c_str());
  // From the first step's end: what comes before is done once a run.
  state.SetIterationTime((MonotonicSeconds() - first_s) / static_cast<double>(kSteps - 1));
}

void BM_AgentStep(benchmark::State& state) {
  const knowledge::Contents contents = BaseOf(state.range(0));
  for (auto _ : state) {
    const TemporaryDirectory folder = TemporaryDirectory::Create("bench").value();
    RunOnce(folder.path(), contents, state);
  }
}
BENCHMARK(BM_AgentStep)
    ->Arg(0)
    ->Arg(10'000)
    ->Arg(100'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace warpsmith
