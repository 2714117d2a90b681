// A world for whole runs of the agent: a device that reads its verdict off the source, a model that
// answers by rules, and what a run needs around them.
#ifndef WARPSMITH_TESTS_AGENT_AGENT_WORLD_H_
#define WARPSMITH_TESTS_AGENT_AGENT_WORLD_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/maic_proposer.h"
#include "base/file.h"
#include "base/sha256.h"
#include "search/loop.h"
#include "store/run_memos.h"
#include "store/tests/facts.h"
#include "store/worker.h"

namespace warpsmith::agent {

// "// us=12.5" in a candidate's source is its time; "// verdict=incorrect" and the like its end.
// The bar takes 100 us.
inline Outcome OutcomeIn(const Job& job) {
  std::string text;
  for (const auto& [path, source] : job.candidate.sources) text += source;
  const auto says = [&](const char* word) {
    return text.find(std::string("verdict=") + word) != std::string::npos;
  };
  if (says("compile-failed")) return CompileFailed{"error: no", "kernel.cu(1): error: no\n", false};
  if (says("incorrect")) return Incorrect{"bound", "element 3 is off", 1, 0.1, 3};
  if (says("hang")) return TimedOut{"run", 1000};
  if (says("crash")) return RunFailed{"cuLaunchKernel", "700", "illegal address"};
  if (says("inconclusive")) return Inconclusive{"noise"};
  const size_t at = text.find("us=");
  const double us = at == std::string::npos ? 200 : std::strtod(text.c_str() + at + 3, nullptr);
  ModeTiming mode;
  mode.candidate.name = "candidate";
  mode.candidate.median_us = us;
  mode.comparisons = {{"bar", 100 / us, {99 / us, 101 / us}, Finding::kFaster}};
  Passed passed;
  passed.level = job.protocol.level;
  passed.timings = {{job.workload.name, {mode}}};
  return passed;
}

inline Verdict VerdictIn(const Job& job) {
  Verdict verdict{OutcomeIn(job), {}};
  verdict.evidence.device = store::TestDevice().name;
  verdict.evidence.device_uuid = store::TestDevice().uuid;
  verdict.evidence.toolchain = "nvrtc 13.0";
  verdict.evidence.date = "2026-11-21T10:00:00Z";
  return verdict;
}

inline std::string PlanBlock() {
  return "```json plan.json\n{\"version\": 1, \"operations\": [{\"type\": \"launch\", \"kernel\": "
         "\"k\", \"grid\": [1, 1, 1], \"block\": [128, 1, 1], \"arguments\": [{\"tensor\": "
         "\"A\"}]}]}\n```\n";
}

// A whole reply with code. `mark`: "us=20" or "verdict=incorrect".
inline std::string CodeReply(const std::string& mark, const std::string& text = "") {
  return text + "```cuda kernel.cu\n// " + mark +
         "\nextern \"C\" __global__ void k(const half* A) {}\n```\n" + PlanBlock();
}

inline std::string ReviewReply(const std::string& note) {
  return "```json\n{\"cause\": \"it moved less\", \"evidence\": [], \"verdict\": \"noise\", "
         "\"next\": null, \"note\": \"" +
         note + "\", \"when\": null, \"replaces\": null}\n```\n";
}

// Asks `answer` (by role and prompt), one call at a time; nullopt: somebody has yet to answer.
class ScriptedModel : public ChatModel {
 public:
  using Answer = std::function<Result<std::string>(const ChatRequest& request)>;
  explicit ScriptedModel(Answer answer) : answer_(std::move(answer)) {}

  Result<ChatReply> Complete(const ChatRequest& request) override {
    const std::lock_guard lock(mutex_);
    ++asked_[request.role];
    Result<std::string> text = answer_(request);
    if (!text.ok()) return std::move(text).error();
    ChatReply reply;
    reply.samples = {{*text, "stop"}};
    reply.usage = {static_cast<int64_t>(request.messages.front().text.size()) / 4,
                   static_cast<int64_t>(text->size()) / 4, false};
    reply.model = "scripted";
    return reply;
  }
  int asked() const {
    int all = 0;
    for (const auto& [role, count] : asked_) all += count;
    return all;
  }
  int asked(const std::string& role) const {
    const auto found = asked_.find(role);
    return found == asked_.end() ? 0 : found->second;
  }

 private:
  const Answer answer_;
  std::mutex mutex_;
  std::map<std::string, int> asked_;
};

// A number that depends on the prompt alone.
inline uint64_t DiceOf(const ChatRequest& request) {
  return std::strtoull(Sha256Hex(request.messages.front().text).substr(0, 8).c_str(), nullptr, 16);
}

// Mostly good, sometimes each of the ways in which models fail.
inline Result<std::string> TypicalAnswer(const ChatRequest& request) {
  const uint64_t dice = DiceOf(request);
  if (request.role == "review") return ReviewReply("note " + std::to_string(dice % 10));
  if (request.role == "doubts") {
    return std::string(dice % 2 == 0
                           ? "{\"doubts\": [{\"reason\": \"skips work\", \"where\": \"\", "
                             "\"severity\": \"high\"}]}"
                           : "{\"doubts\": []}");
  }
  if (request.role == "state") {
    return std::string(
        "{\"states\": [{\"kernel\": 1, \"state\": \"brand-new-state\", \"secondary\": null, "
        "\"confidence\": 0.7, \"evidence\": [\"warps idle\"]}]}");
  }
  if (request.role == "bootstrap") return CodeReply("us=200");
  switch (dice % 10) {
    case 0:
      return std::string("I think that this kernel is fine as it is.");
    case 1:
      return CodeReply("verdict=compile-failed " + std::to_string(dice));
    case 2:
      return CodeReply("verdict=incorrect " + std::to_string(dice));
    case 3:
      return std::string("NOT APPLICABLE: there is no reduction here");
    case 4:
      return CodeReply("verdict=hang " + std::to_string(dice));
    default:
      return CodeReply("us=" + std::to_string(20 + dice % 180) + " " + std::to_string(dice),
                       "TECHNIQUE: idea-" + std::to_string(dice % 4) + " - does a thing\n");
  }
}

struct World {
  TemporaryDirectory folder = TemporaryDirectory::Create("agent").value();
  std::function<Verdict(const Job& job)> judge = VerdictIn;
  store::AnsweringDevice device{[this](const Job& job) { return judge(job); }, 0.25};
  Task task = store::TestTask();
  Workload workload = store::TestWorkload();
  Settings settings;
  std::optional<Candidate> start;
  std::vector<PartKernel> parts;
  Budget budget;
  std::string run = "run";
  uint64_t seed = 1;
  Models models;
  TakeProfile take_profile;
  std::function<Result<std::string>(const std::string&)> documents;
  PriceOf price;
  store::Memos recorded;
  bool keeps_knowledge = true;

  World(const World&) = delete;  // its device asks it
  World() {
    settings.breadth = 2;
    settings.depth = 3;
    budget.evaluations = 16;
  }

  std::unique_ptr<store::DatabaseStore> Store(const std::string& name) const {
    return store::DatabaseStore::Open(folder.path() / (name + ".db"),
                                      store::Durability::kProcessDeath)
        .value();
  }
  std::unique_ptr<knowledge::KnowledgeBase> Base(const std::string& name) const {
    auto base = knowledge::KnowledgeBase::Open(folder.path() / (name + ".kb"),
                                               store::Durability::kProcessDeath,
                                               store::WhenMissing::kCreate)
                    .value();
    EXPECT_TRUE(base->Take(knowledge::Seed()).ok());
    return base;
  }

  search::LoopRequest Request() const {
    search::LoopRequest request;
    request.run = {run,
                   "",
                   task,
                   workload,
                   Protocol::Screened(),
                   "agent",
                   seed,
                   settings.breadth * settings.top_k,
                   device.Info(),
                   ""};
    request.budget = budget;
    request.budget.tokens = Budget().tokens;
    request.budget.money = Budget().money;
    request.worker = store::ThisWorker();
    return request;
  }

  struct End {
    Result<search::LoopResult> loop = Error{};
    Status concluded;
    Trajectory steps;
    store::Memos memos;
    std::optional<std::string> limit;
    std::optional<TokenBudgetEnd> token_budget_end;
    std::string state_path;
    Cost spent;
    std::vector<std::string> vetoed;  // candidates of steps
  };

  // One process's part of the run, stopped (as Ctrl-C does) when it has committed so many steps.
  End Go(const std::string& name, int64_t most_steps = 1'000'000) {
    const auto store = Store(name);
    const auto base = keeps_knowledge ? Base(name) : nullptr;
    store::RunMemos memos(*store, run, recorded);
    RunSetup setup;
    setup.run = run;
    setup.task = task;
    setup.workload = workload;
    setup.device = device.Info();
    setup.run_config = {settings, seed, settings.breadth * settings.top_k, start, parts};
    setup.budget = budget;
    Services services;
    services.models = models;
    services.price = price;
    services.take_profile = take_profile;
    services.documents = documents;
    services.knowledge = [&]() -> Result<knowledge::Contents> {
      if (base == nullptr) return knowledge::Seed();
      return base->Read();
    };
    services.users_base = base.get();
    services.memos = &memos;
    MaicProposer proposer(std::move(setup), std::move(services));
    End end;
    int64_t steps = 0;
    search::LoopCallbacks callbacks;
    callbacks.on_progress = [&](const search::Progress& progress) { steps = progress.evaluations; };
    callbacks.stop = [&] { return steps >= most_steps; };
    end.loop = search::RunLoop(Request(), proposer, nullptr, device, *store, callbacks);
    const bool ended = end.loop.ok() && end.loop->reason != search::EndReason::kInterrupted;
    if (ended) end.concluded = proposer.Conclude();
    end.limit = proposer.limit();
    end.token_budget_end = proposer.token_budget_end();
    end.state_path = proposer.StatePath();
    end.spent = proposer.spent();
    if (store->FindRun(run).value().has_value()) {
      end.steps = store->Steps(run).value();
      end.memos = memos.All().value();
    }
    for (const auto& [id, doubt] : proposer.Vetoed()) end.vetoed.push_back(id);
    return end;
  }
};

// What must be the same in a run that was stopped, resumed or replayed.
enum class Costs { kToo, kLeftOut };
inline std::string TrajectoryText(const Trajectory& steps, Costs costs = Costs::kToo) {
  std::string text;
  for (const Step& step : steps) {
    text += std::to_string(step.index) + " " + CandidateId(step.candidate) + " " +
            step.candidate.provenance.technique + " " + step.candidate.provenance.prompt_sha256 +
            " " + Describe(step.verdict.outcome) + " " + std::to_string(step.reward);
    if (costs == Costs::kToo) text += " " + std::to_string(step.cost.tokens);
    text += "\n";
  }
  return text;
}

}  // namespace warpsmith::agent

#endif  // WARPSMITH_TESTS_AGENT_AGENT_WORLD_H_
