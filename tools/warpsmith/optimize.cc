// `warpsmith optimize`, of kernel families and with the agent.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "agent/knowledge/knowledge_base.h"
#include "agent/runs/agent_run.h"
#include "agent/runs/task_split.h"
#include "base/display_text.h"
#include "command_tree.h"
#include "commands.h"
#include "judge/resolved_task.h"
#include "report/terminal.h"
#include "search/call_time.h"
#include "search/evaluation/judging.h"
#include "store/run_memos.h"
#include "task/hgemm_task.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

constexpr const char* kGroup = "With --proposer agent";

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

namespace {

// Screened: replayed, and on an H200 (small shapes; the fixed cost of a verdict).
constexpr double kSecondsAReplay = 0.0005, kSecondsAVerdict = 0.05;

// A candidate.toml's tunables, or the kernel families where the task is an HGEMM.
Result<search::SearchJob> JobFor(const OptimizeOptions& options, search::Machine& machine,
                                 const task::LoadedTask& loaded) {
  if (!options.candidate.empty()) {
    const auto file = std::make_shared<const task::CandidateFile>(
        TRY(task::CandidateFile::Load(options.candidate)));
    search::SearchJob job{loaded.task, loaded.workload, file->space(), {}, {}, {},
                          {},          loaded.task.name};
    job.make = [file](const Point& point) { return file->Make(point); };
    return job;
  }
  if (task::LayoutOf(loaded.task).empty()) {
    return Error{ErrorCode::kConfig, "task '" + loaded.task.name + "' has no kernel family",
                 "give a starting kernel with --candidate candidate.toml and its [tunables]"};
  }
  const judge::ResolvedTask problem = TRY(judge::ResolveTask(loaded.task, loaded.workload));
  if (!problem.gemm) {
    return Error{ErrorCode::kBadInput,
                 options.task + ": without --candidate only matrix products can be optimized",
                 "give a candidate with tunables: --candidate DIR"};
  }
  // The families speak of the built-in task, so that measurements are shared with hgemm tune.
  const Workload workload =
      task::HgemmWorkload({problem.gemm->m, problem.gemm->n, problem.gemm->k});
  const Task task = task::HgemmTask(task::LayoutOf(loaded.task), problem.gemm->dtype);
  return search::HgemmSearch(machine, task, workload);
}

Result<int> RunOptimize(const OptimizeOptions& given) {
  OptimizeOptions options = given;
  const bool is_agent = options.search.proposer == "agent";
  if (options.search.budget.empty()) options.search.budget = is_agent ? "evals=40" : "evals=160";
  if (is_agent) return RunAgent(options);
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const Budget budget = TRY(ParseBudget(options.search.budget));
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  search::Machine machine = TRY(search::Machine::Open(options.device));
  search::SearchJob job = TRY(JobFor(options, machine, loaded));
  SayOrigin(machine, options.common, false);
  if (slice.count > 1) {
    job.space = Space(job.space.name() + " " + options.pace.slice,
                      search::TakeSlice(slice, job.space.points()));
  }
  if (options.search.dry_run) {
    const int64_t evaluations =
        std::min(budget.evaluations, static_cast<int64_t>(job.space.size()));
    const double each = machine.recorded() != nullptr ? kSecondsAReplay : kSecondsAVerdict;
    PrintDryRun(
        {{job.label, job.space.size(), evaluations, each * static_cast<double>(evaluations)}},
        options.common.json);
    return 0;
  }
  const std::string prefix = TRY(search::RunName(machine, options.search, loaded.task.name));
  const std::string command = "warpsmith optimize " + options.task;
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO));
  const search::SearchEnd end =
      TRY(search::Search(job, {&machine, &options.search, options.common.quiet ? nullptr : &line,
                               prefix, command, search::CallTime(options.pace).Left()}));
  line.Clear();
  SayOrigin(machine, options.common, true);
  report::RunReport report;
  report.title = job.task.name;
  report.shapes = {end.report};
  report.origin = OriginOf(machine, {end}, command);
  TRY(Publish(report, options.files, options.common.json));
  if (!options.common.quiet)
    std::fprintf(stderr, "run: %s; its kernel: warpsmith export %s -o best\n", prefix.c_str(),
                 prefix.c_str());
  if (end.reason == search::EndReason::kInterrupted) {
    return Describe(ErrorCode::kInterrupted).exit_status;
  }
  return ExitStatus(report, options.search.fail_on);
}

// What the agent of `optimize` can be told.
void AddAgent(CLI::App* command, agent::AgentOptions& agent) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->group(kGroup);
  };
  const auto flag = [&](const char* name, bool& value, const char* help) {
    return command->add_flag(name, value, help)->group(kGroup);
  };
  add("--model", agent.models,
      "[ROLE=]openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE; may be repeated")
      ->expected(1, 16);
  add("--key-variable", agent.key_variable,
      "environment variable with the key of openai: models; default: OPENAI_API_KEY, to "
      "api.openai.com only");
  add("--prices", agent.prices, "JSON file with what models cost");
  add("--temperature", agent.temperature, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 2.0));
  add("--top-p", agent.top_p, "of sampling; default: the server's")->check(CLI::Range(0.0, 1.0));
  add("--max-tokens", agent.max_tokens, "of one reply")->check(CLI::Range(1, 1'000'000));
  add("--sampling-seed", agent.sampling_seed, "passed on to servers that take one");
  add("--knowledge", agent.knowledge,
      "knowledge base: a file, or postgresql://...; default: the store's server, else knowledge.db "
      "in the data folder");
  add("--documents", agent.documents, "folder of texts that prompts may quote from");
  add("--breadth", agent.breadth, "rollouts side by side")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add("--depth", agent.depth, "steps of a rollout")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add("--top-k", agent.top_k, "techniques tried at each step")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  add("--repairs", agent.repairs, "of one attempt")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  add("--ask", agent.ask, "further questions: states,reviews,doubts; none; auto")
      ->capture_default_str();
  add("--form", agent.form, "of what is written: kernel or program")
      ->check(CLI::IsMember({"kernel", "program"}));
  add("--parts", agent.parts,
      "folder of the task's parts (task split): the first kernel is joined from their best");
  add("--record", agent.record, "write the whole run into this .wsrec when it has ended");
  flag("--no-memory", agent.no_memory, "ablation: neither read nor write what techniques brought");
  flag("--cycles-only", agent.cycles_only, "ablation: of profiles only each kernel's time");
  CLI::Option* minimal =
      flag("--minimal-agent", agent.minimal, "ablation: code and profile in, code out");
  flag("--contrastive", agent.contrastive, "prompts of variants with their scores")
      ->excludes(minimal);
  command->parse_complete_callback([command] {
    if (command->get_option("--proposer")->as<std::string>() == "agent") return;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group() != kGroup || option->count() == 0) continue;
      throw CLI::ValidationError(option->get_name(), "goes with --proposer agent");
    }
  });
}

}  // namespace

void AddOptimize(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("optimize", "find the fastest correct kernel for a task");
  auto options = std::make_shared<OptimizeOptions>();
  command->add_option("task", options->task, kTaskHelp)->required();
  command->add_option("--candidate", options->candidate,
                      "candidate.toml: with [tunables], or for the agent to begin with");
  command->add_option("--workload", options->workload, "by name; default: the first");
  AddDevice(command, options->device);
  AddPace(command, options->pace);
  AddSearch(command, options->search, {"guided", "brief", "local", "random", "agent"});
  options->search.budget.clear();  // its default is the proposer's
  command->get_option("--budget")->default_str("evals=160; the agent's: evals=40");
  AddReportFiles(command, options->files);
  AddAgent(command, options->agent);
  Choose(command, chosen, options, RunOptimize);
}

}  // namespace warpsmith::cli
