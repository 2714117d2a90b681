#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "agent_loop.h"
#include "commands.h"
#include "report/terminal.h"
#include "search.h"
#include "util/file.h"
#include "winners.h"

namespace warpsmith::cli {
namespace {

constexpr const char* kCommand = "warpsmith demo --agent";

bool HoldsRecordings(const std::filesystem::path& folder) {
  std::error_code unreadable;
  return std::ranges::any_of(
      std::filesystem::directory_iterator(folder, unreadable),
      [](const auto& entry) { return entry.path().extension() == ".wsrec"; });
}

// Of the agent's runs: what --device names, else those that come with the program.
Result<std::string> RecordingsFor(const DeviceOptions& device) {
  if (device.device == "local") {
    return Error{ErrorCode::kConfig,
                 "demo --agent replays what was recorded, --device local measures",
                 "leave one of them out; 'warpsmith optimize --proposer agent' asks a model anew"};
  }
  if (device.device != "auto" && device.device != "recorded") return device.device;
  const auto shipped = FindShippedFile("data/recordings/agent");
  if (shipped.ok() && HoldsRecordings(*shipped)) return shipped->string();
  return Error{ErrorCode::kNoInput,
               "no recorded run of the agent comes with this program (data/recordings/agent)",
               "name a recording with --device FILE.wsrec; 'warpsmith optimize TASK --proposer "
               "agent --record FILE.wsrec' makes one"};
}

Result<SearchEnd> Replay(const OptimizeOptions& options, Machine& machine, RecordedRun recorded,
                         const std::string& prefix) {
  const std::string run = prefix + "/" + recorded.space;
  AgentSetting setting = TRY(ToReplay(std::move(recorded)));
  setting.command = kCommand;
  report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO), report::Lines::kStaying);
  AgentEnd end = TRY(
      CarryOut(options, machine, std::move(setting), run, options.common.quiet ? nullptr : &line));
  return std::move(end.search);
}

Result<int> ReplayAgent(const DemoOptions& demo) {
  OptimizeOptions options;
  options.common = demo.common;
  options.device = demo.device;
  options.device.device = TRY(RecordingsFor(demo.device));
  options.search = demo.search;
  Machine machine = TRY(Machine::Open(options.device));
  std::vector<RecordedRun> runs = TRY(RecordedRuns(*machine.recorded()));
  if (!demo.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());

  const std::string prefix = TRY(RunName(machine, options.search, "demo"));
  std::vector<SearchEnd> ends;
  bool stopped = false;
  for (size_t i = 0; i < runs.size() && !stopped; ++i) {
    ends.push_back(TRY(Replay(options, machine, std::move(runs[i]), prefix)));
    stopped = ends.back().reason == optimize::EndReason::kInterrupted;
  }
  report::RunReport report;
  report.title = "The agent's recorded runs";
  for (const SearchEnd& end : ends) report.shapes.push_back(end.report);
  report.origin = OriginOf(machine, ends, kCommand);
  TRY(Publish(report, demo.files, demo.common.json));
  if (stopped) return Describe(ErrorCode::kInterrupted).exit_status;
  if (!demo.common.json) TRY(CompileWinners(machine, ends));
  if (!demo.common.quiet) std::fprintf(stderr, "runs: %s/*\n", prefix.c_str());
  return ExitStatus(report, demo.search.fail_on);
}

}  // namespace

Result<int> RunDemo(const DemoOptions& options) {
  return options.agent ? ReplayAgent(options) : RunHgemmTune(options);
}

}  // namespace warpsmith::cli
