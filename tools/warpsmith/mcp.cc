#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "agent/knowledge/knowledge_base.h"
#include "base/build_info.h"
#include "base/clock.h"
#include "command_tree.h"
#include "commands.h"
#include "search/evaluation/judging.h"
#include "serve/tools/tools.h"
#include "store/worker.h"
#include "task/candidate_file.h"

namespace warpsmith::cli {
namespace {

struct McpOptions {
  search::DeviceOptions device;
  std::string task, workload;
  std::string candidate;  // what the agent starts from; empty: it writes the first one
  std::string budget = "evals=200";
  std::string run, resume;  // as optimize's
  std::string knowledge;    // the base
  std::string ncu;
  uint64_t seed = 1;  // of draws from the base
  bool quiet = false;
};

// The agent's end alone: whatever else this process or its children print goes to stderr.
Result<int> ClaimStdout() {
  std::fflush(stdout);
  const int claimed = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (claimed < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return Error{ErrorCode::kIo, "stdout cannot be used", "connect it to the client"};
  }
  return claimed;
}

std::string RunId(const McpOptions& options, const std::string& task) {
  if (!options.resume.empty()) return options.resume;
  if (!options.run.empty()) return options.run;
  std::string stamp = UtcTimestamp();
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  return task + "-mcp-" + stamp + "-" + std::to_string(getpid());
}

Status CheckResumable(const McpOptions& options, store::DatabaseStore& store) {
  if (options.resume.empty() || TRY(store.FindRun(options.resume))) return {};
  return Error{ErrorCode::kNoInput, "--resume " + options.resume + ": no such run was begun",
               "'warpsmith report' lists the runs; --run gives a new one this name"};
}

// Exceptions of the libraries below us end here: a bug must not end the conversation.
Result<mcp::ToolResult> Call(serve::McpTools& tools, const mcp::ToolCall& call,
                             mcp::CallContext& context) {
  try {
    return tools.Call(call, context);
  } catch (const std::exception& exception) {
    return Error{ErrorCode::kInternal, std::string("unexpected: ") + exception.what(),
                 "please report it"};
  }
}

Result<int> RunMcp(const McpOptions& options) {
  search::WorkbenchRequest request;
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  request.task = loaded.task;
  request.workload = loaded.workload;
  request.start = TRY(task::StartingKernel(options.candidate, request.task));
  request.budget = TRY(ParseBudget(options.budget));
  request.run = RunId(options, request.task.name);
  request.command = "warpsmith mcp " + options.task;
  request.worker = store::ThisWorker();
  request.seed = options.seed;
  const auto store = TRY(search::OpenStore(options.device.store, store::Durability::kPowerLoss));
  TRY(CheckResumable(options, *store));
  search::LazyMachine machine(options.device);
  const std::string run = request.run;
  search::Workbench bench = TRY(
      search::Workbench::Open(std::move(request), *store, [&machine]() -> Result<search::Seams> {
        search::Machine* const opened = TRY(machine.Get());
        return search::Seams{opened->device(), opened->loop_compiler()};
      }));
  const std::string knowledge = knowledge::KnowledgeBeside(options.device.store, options.knowledge);
  serve::McpTools tools(std::move(bench), machine, TRY(knowledge::OpenKnowledge(knowledge)), *store,
                        options.ncu);

  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is the end of the output, not of us
  mcp::ServeRequest serve;
  serve.output = TRY(ClaimStdout());
  serve.call = [&](const mcp::ToolCall& call, mcp::CallContext& context) {
    return Call(tools, call, context);
  };
  serve.idle = [&] { machine.Release(); };
  mcp::Session session({"warpsmith", std::string(build_info::Version()),
                        std::string(serve::McpText("instructions.md"))},
                       serve::McpToolTable());
  if (!options.quiet)
    std::fprintf(stderr, "serving %s; run: %s\n", options.task.c_str(), run.c_str());
  const Status served = mcp::Serve(session, serve);
  close(serve.output);
  if (!served.ok()) return served.error();
  return 0;
}

}  // namespace

void AddMcp(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command =
      app.add_subcommand("mcp", "serve a task to a coding agent (Model Context Protocol, stdio)");
  auto options = std::make_shared<McpOptions>();
  command->add_option("task", options->task, kTaskHelp)->required();
  command->add_option("--candidate", options->candidate, "the kernel that the agent starts from");
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_option("--budget", options->budget, "evals=N,gpu=30s,time=10m,tokens=1e6,money=5")
      ->capture_default_str();
  CLI::Option* run = command->add_option("--run", options->run, "name of the run");
  command->add_option("--resume", options->resume, "go on with this run")->excludes(run);
  command->add_option(
      "--knowledge", options->knowledge,
      "the base: a file, or postgresql://...; default: knowledge.db in the data folder");
  command->add_option("--seed", options->seed, "of draws from the base")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  command->add_option("--ncu", options->ncu, "Nsight Compute's program");
  AddDevice(command, options->device);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([&chosen, options] { chosen.run = [options] { return RunMcp(*options); }; });
}

}  // namespace warpsmith::cli
