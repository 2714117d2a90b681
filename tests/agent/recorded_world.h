// A whole run in the scripted world, written down as `optimize --record` writes one.
#ifndef WARPSMITH_TESTS_AGENT_RECORDED_WORLD_H_
#define WARPSMITH_TESTS_AGENT_RECORDED_WORLD_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "agent/runs/run_recording.h"
#include "agent_world.h"
#include "core/protocol.h"
#include "store/run_memos.h"
#include "task/task_file.h"

namespace warpsmith::cli {

inline constexpr const char* kScriptedTask = "hgemm:256x256x256:NN";

// On a task that the command line can name, with a model that fails in the ways that models do.
struct RecordedWorld {
  agent::ScriptedModel model{agent::TypicalAnswer};
  agent::World world;

  RecordedWorld() {
    const task::LoadedTask loaded = task::LoadTask(kScriptedTask, "").value();
    world.task = loaded.task;
    world.workload = loaded.workload;
    world.models = {{"", &model}};
    world.settings.sampling.max_tokens = 500;
    world.take_profile = [](const Candidate& candidate) -> Result<Profile> {
      const auto length = static_cast<double>(CodeLength(candidate));
      return Profile{"ncu 2025.3",
                     {{"k",
                       {{"gpu__time_duration.sum", 1e6 / length},
                        {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 91}}}}};
    };
  }

  agent::JudgedStep Certified(Step step) const {
    Job job{"", world.task, world.workload, step.candidate, std::nullopt, Protocol::Certified()};
    job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
    step.verdict = world.judge(job);
    return {std::move(step), job.protocol};
  }

  // Runs to the end. The best kernel but one turns out to be wrong on other sizes, so the first and
  // the third are certified.
  Status Record(const std::filesystem::path& path) {
    const agent::World::End end = world.Go("recorded");
    const search::LoopResult loop = TRY(end.loop);
    TRY(end.concluded);
    std::vector<agent::JudgedStep> steps;
    for (Step step : end.steps) {
      step.verdict.evidence.date = "2026-11-21T10:00:00Z";  // of refusals, too
      steps.push_back({std::move(step), Protocol::Screened()});
    }
    std::vector<Step> best;
    for (const Step& step : loop.best) {
      const std::string id = CandidateId(step.candidate);
      if (std::ranges::find(end.vetoed, id) == end.vetoed.end()) best.push_back(step);
    }
    store::Memos memos = end.memos;
    for (size_t i = 0; i < best.size() && i < 3; ++i) {
      if (i == 1) {
        memos[store::OverruledKey(CandidateId(best[i].candidate))] = "incorrect on other sizes";
      } else {
        steps.push_back(Certified(best[i]));
      }
    }
    memos[agent::kEndKey] = agent::TextOf(
        {world.budget.evaluations, end.limit.value_or(loop.limit), end.token_budget_end});
    return agent::RecordRun(path, world.Request().run, steps, memos, nullptr);
  }
};

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TESTS_AGENT_RECORDED_WORLD_H_
