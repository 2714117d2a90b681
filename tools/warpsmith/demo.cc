#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/runs/agent_run.h"
#include "base/file.h"
#include "command_tree.h"
#include "commands.h"
#include "report/terminal.h"

namespace warpsmith::cli {
namespace {

struct DemoOptions : TuneOptions {
  bool agent = false;  // replay the recorded runs of the agent instead
};

constexpr const char* kCommand = "warpsmith demo --agent";

Error NoRun(const std::string& message) {
  return {ErrorCode::kNoInput, message,
          "name a recording with --device FILE.wsrec; 'warpsmith optimize TASK --proposer agent "
          "--record FILE.wsrec' makes one"};
}

// Where the agent's runs are: what --device names, else the folder that comes with the program.
Result<std::filesystem::path> PlaceOf(const search::DeviceOptions& device) {
  if (device.device == "local") {
    return Error{ErrorCode::kConfig,
                 "demo --agent replays what was recorded, --device local measures",
                 "leave one of them out; 'warpsmith optimize --proposer agent' asks a model anew"};
  }
  if (device.device != "auto" && device.device != "recorded") {
    return std::filesystem::path(device.device);
  }
  auto shipped = FindShippedFile("data/recordings/agent");
  if (shipped.ok()) return shipped;
  return NoRun("no recorded run of the agent comes with this program (data/recordings/agent)");
}

// Those in a folder, by name; what is no folder is taken for one.
Result<std::vector<std::filesystem::path>> RecordingsIn(const std::filesystem::path& place) {
  std::error_code unreadable;
  if (!std::filesystem::is_directory(place, unreadable)) return std::vector{place};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(place, unreadable)) {
    if (entry.path().extension() == ".wsrec") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) return NoRun("no recorded run of the agent (*.wsrec) is in " + place.string());
  return files;
}

// The replays of every recording, one after the other: each is a device of its own, so runs that
// bear the same name do not meet.
class AgentDemo {
 public:
  AgentDemo(const DemoOptions& demo, std::filesystem::path place)
      : demo_(demo), place_(std::move(place)) {
    options_.common = demo.common;
    options_.quiet = demo.common.quiet;
    options_.device = demo.device;
    options_.search = demo.search;
  }

  Result<int> Run() {
    for (const std::filesystem::path& file : TRY(RecordingsIn(place_))) {
      TRY(ReplayAllOf(file));
      if (stopped_) break;
    }
    report::RunReport report;
    report.title = "The agent's recorded runs";
    for (const search::SearchEnd& end : ends_) report.shapes.push_back(end.report);
    report.origin = OriginOf(*machine_, ends_, kCommand);
    report.origin.recording = place_.string();
    TRY(Publish(report, demo_.files, demo_.common.json));
    if (stopped_) return Describe(ErrorCode::kInterrupted).exit_status;
    if (!demo_.common.json) TRY(CompileWinners(*machine_, ends_));
    if (!demo_.common.quiet)
      std::fprintf(stderr, "runs: %s/*; a kernel: warpsmith export %s -o best\n", prefix_.c_str(),
                   ends_.front().run.c_str());
    return ExitStatus(report, demo_.search.fail_on);
  }

 private:
  Status ReplayAllOf(const std::filesystem::path& file) {
    TRY(Open(file));
    for (agent::RecordedRun& run : TRY(agent::RecordedRuns(*machine_->recorded()))) {
      const std::string name = prefix_ + "/" + file.stem().string() + "/" + run.space;
      ends_.push_back(TRY(Replay(std::move(run), name)));
      stopped_ = ends_.back().reason == search::EndReason::kInterrupted;
      if (stopped_) break;
    }
    return {};
  }

  // One report speaks of one kind of device.
  Status Open(const std::filesystem::path& file) {
    options_.device.device = file.string();
    search::Machine machine = TRY(search::Machine::Open(options_.device));
    if (machine_.has_value() && machine.info().name != machine_->info().name) {
      return Error{ErrorCode::kConfig,
                   file.string() + " was measured on " + machine.info().name +
                       ", one before it on " + machine_->info().name,
                   "replay one device's recordings at a time: --device FILE.wsrec"};
    }
    machine_ = std::move(machine);
    if (prefix_.empty()) prefix_ = TRY(search::RunName(*machine_, options_.search, "demo"));
    if (!demo_.common.quiet) std::fprintf(stderr, "%s\n", machine_->notice().c_str());
    return {};
  }

  Result<search::SearchEnd> Replay(agent::RecordedRun recorded, const std::string& run) {
    agent::AgentSetting setting = TRY(agent::ToReplay(std::move(recorded)));
    setting.command = kCommand;
    report::ProgressLine line(stderr, report::StyleOf(STDERR_FILENO), report::Lines::kStaying);
    agent::AgentEnd end = TRY(agent::CarryOut(options_, *machine_, std::move(setting), run,
                                              demo_.common.quiet ? nullptr : &line));
    return std::move(end.search);
  }

  const DemoOptions& demo_;
  const std::filesystem::path place_;
  OptimizeOptions options_;
  std::optional<search::Machine> machine_;  // of the recording that is replayed
  std::string prefix_;                      // of the runs' names in the store
  std::vector<search::SearchEnd> ends_;
  bool stopped_ = false;
};

Result<int> RunDemo(const DemoOptions& options) {
  if (!options.agent) return RunHgemmTune(options);
  return AgentDemo(options, TRY(PlaceOf(options.device))).Run();
}

}  // namespace

void AddDemo(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand(
      "demo", "tune 12 HGEMM shapes, or replay the agent's recorded runs; writes report.html");
  auto options = std::make_shared<DemoOptions>();
  options->files.html = "report.html";
  options->compile_winners = options->compare_proposers = true;
  AddTuneLike(command, *options);
  CLI::Option* agent = command->add_flag(
      "--agent", options->agent,
      "replay recorded runs of a language model's work, those of --device or the shipped ones");
  for (const char* tuning : {"--gpu", "--wait", "--unsandboxed", "--max-seconds", "--slice",
                             "--proposer", "--budget", "--seed", "--batch", "--finalists",
                             "--paper-protocol", "--dry-run", "--layout", "--dtype", "--reward"}) {
    agent->excludes(command->get_option(tuning));
  }
  Choose(command, chosen, options, RunDemo);
}

}  // namespace warpsmith::cli
