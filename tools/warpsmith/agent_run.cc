#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "agent/knowledge/knowledge_base.h"
#include "agent/runs/agent_run.h"
#include "agent/runs/task_split.h"
#include "base/display_text.h"
#include "commands.h"
#include "report/terminal.h"
#include "search.h"
#include "search/evaluation/judging.h"
#include "store/run_memos.h"

namespace warpsmith::cli {
namespace {

Result<agent::AgentSetting> ReplayOf(const task::LoadedTask& loaded, search::Machine& machine,
                                     const std::string& recording) {
  if (machine.recorded() == nullptr) {
    return Error{ErrorCode::kConfig, "a run is replayed from a recording, not on a GPU",
                 "name it as the device, too: --device " + recording};
  }
  return agent::ToReplay(
      TRY(agent::FindRecordedRun(*machine.recorded(), loaded.task, loaded.workload)));
}

Status CheckParts(const OptimizeOptions& options) {
  if (options.agent.parts.empty() || options.candidate.empty()) return {};
  return Error{ErrorCode::kUsage, "--parts and --candidate both say what to begin with",
               "give one of them"};
}

Result<agent::AgentSetting> Prepare(const OptimizeOptions& options, search::Machine& machine) {
  agent::AgentSetting setting;
  setting.loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  setting.budget = TRY(ParseBudget(options.search.budget));
  TRY(agent::CheckAsked(options.agent));
  TRY(CheckParts(options));
  setting.models = TRY(agent::OpenModels(options.agent, setting.budget));
  if (setting.models.recording.empty()) {
    setting.run_config =
        TRY(agent::RunConfigOf(options, setting.loaded.task, setting.models.waits_for_answers));
  } else {
    setting = TRY(ReplayOf(setting.loaded, machine, setting.models.recording));
  }
  setting.command = "warpsmith optimize " + options.task + " --proposer agent";
  return setting;
}

// A run that goes on joins what it began with, whatever has become of the parts since.
Result<std::vector<agent::PartKernel>> PartsOf(const OptimizeOptions& options,
                                               search::Machine& machine, const Task& whole,
                                               const std::string& run) {
  if (options.agent.parts.empty()) return std::vector<agent::PartKernel>();
  store::DatabaseStore* store = TRY(machine.store());
  const auto begun = TRY(store::RunMemos(*store, run).Find(agent::kBeginKey));
  if (begun.has_value()) return TRY(agent::RunConfigFrom("run " + run, *begun)).parts;
  return agent::PartKernels(options.agent.parts, whole, *store, machine.info().architecture);
}

// "; 15 of 16 rejected, such as: reply: the model wrote no code"
std::string WhyNot(const report::ShapeReport& report) {
  const auto most = std::ranges::max_element(report.failures, {}, &report::FailureCount::count);
  if (most == report.failures.end()) return "";
  return "; most often " + most->kind + " (" + std::to_string(most->count) +
         "), such as: " + LinesForTerminal(most->example);
}

Result<int> Report(const OptimizeOptions& options, search::Machine& machine, const std::string& run,
                   const std::string& command, const agent::AgentEnd& end) {
  report::RunReport report;
  report.title = end.search.report.task;
  report.shapes = {end.search.report};
  report.origin = OriginOf(machine, {end.search}, command);
  TRY(Publish(report, options.files, options.common.json));
  if (!options.common.quiet) {
    const std::string by_budget =
        end.limit.empty() ? "" : " (ended by its budget: " + end.limit + ")";
    const std::string next =
        end.search.winner ? "; its kernel: warpsmith export " + run + " -o best" : "";
    std::fprintf(stderr, "%s\nrun: %s%s%s\n", end.outcome.c_str(), run.c_str(), by_budget.c_str(),
                 next.c_str());
  }
  if (end.search.reason == search::EndReason::kInterrupted) {
    return Describe(ErrorCode::kInterrupted).exit_status;
  }
  if (!end.search.winner) {
    std::fprintf(stderr, "no kernel passed%s\n", WhyNot(end.search.report).c_str());
    return options.search.fail_on == "never" ? 0 : 1;
  }
  return ExitStatus(report, options.search.fail_on);
}

}  // namespace

Result<int> RunAgent(const OptimizeOptions& given) {
  OptimizeOptions options = given;
  options.quiet = options.common.quiet;
  options.agent.plain_http = options.device.plain_http;
  options.agent.knowledge =
      knowledge::KnowledgeBeside(options.device.store, options.agent.knowledge);
  search::DeviceOptions device = options.device;
  const std::string recording = agent::RecordingIn(options.agent);
  if (!recording.empty() && device.device == "auto" && device.gpu.empty()) {
    device.device = recording;
  }
  search::Machine machine = TRY(search::Machine::Open(device));
  // Before anybody is asked: no recording knows kernels that are yet to be written.
  if (machine.recorded() != nullptr && device.device == "auto") {
    return store::NeedsGpu("judging new kernels");
  }
  const std::string server = agent::ServerIn(options.agent);
  if (machine.recorded() != nullptr && recording.empty() && !server.empty()) {
    return Error{ErrorCode::kConfig,
                 "--model " + server + " writes new kernels, and --device " + device.device +
                     " holds no verdicts on those",
                 "leave --device out where an NVIDIA GPU is, or replay a recorded run: --model "
                 "recorded:FILE.wsrec"};
  }
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  agent::AgentSetting setting = TRY(Prepare(options, machine));
  const std::string command = setting.command;
  const std::string run = TRY(search::RunName(machine, options.search, setting.loaded.task.name));
  if (!setting.replayed.has_value()) {
    setting.run_config.parts = TRY(PartsOf(options, machine, setting.loaded.task, run));
  }
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const agent::AgentEnd end = TRY(agent::CarryOut(options, machine, std::move(setting), run,
                                                  options.common.quiet ? nullptr : &line));
  return Report(options, machine, run, command, end);
}

}  // namespace warpsmith::cli
