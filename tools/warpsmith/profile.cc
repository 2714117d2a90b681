#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "command_tree.h"
#include "commands.h"
#include "judge/profile/bottleneck.h"
#include "judge/profile/ncu_report.h"
#include "search/evaluation/judging.h"
#include "search/machine/profiling.h"

namespace warpsmith::cli {
namespace {

struct ProfileOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task, candidate, workload;
  std::string from;    // a saved report of ncu --csv, instead of a run
  std::string ncu;     // the program; empty: where the CUDA toolkit is, or in PATH
  bool model = false;  // print the block that a prompt takes in
};

void Print(const ProfileOptions& options, const Profile& profile,
           const profile::ProblemFacts& facts) {
  const profile::BottleneckReport report = profile::Diagnose(profile, facts);
  if (options.common.json) {
    std::printf("%s\n", profile::ToJson(report, profile).dump(1).c_str());
  } else if (options.model) {
    std::fputs(profile::ModelBlock(report).c_str(), stdout);
  } else {
    std::fputs(profile::BottleneckText(report).c_str(), stdout);
  }
}

Result<int> FromFile(const ProfileOptions& options) {
  const profile::NcuReport report =
      TRY(profile::ReadNcuReport(options.from, TRY(ReadFile(options.from))));
  if (report.unread_rows > 0 && !options.common.quiet) {
    std::fprintf(stderr, "%s: %d rows do not fit the table and were left out\n",
                 options.from.c_str(), report.unread_rows);
  }
  Print(options, {"ncu, saved", report.kernels}, {});
  return 0;
}

Result<int> RunProfile(const ProfileOptions& options) {
  if (!options.from.empty()) return FromFile(options);
  if (options.task.empty() || options.candidate.empty()) {
    return Error{ErrorCode::kUsage,
                 "profile needs a task and a candidate, or --from a saved report",
                 "warpsmith profile TASK CANDIDATE"};
  }
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(options.task, options.workload));
  const auto candidates = TRY(task::LoadCandidates({options.candidate}));
  if (candidates.size() != 1) {
    return Error{ErrorCode::kUsage,
                 options.candidate + " holds " + std::to_string(candidates.size()) + " candidates",
                 "profile one without [tunables], such as 'warpsmith export' writes"};
  }
  search::Machine machine = TRY(search::Machine::Open(options.device));
  const DeviceInfo& device = machine.info();
  if (machine.recorded() != nullptr && !options.common.quiet) {
    std::fprintf(stderr, "no NVIDIA GPU here: what can be said of the code for %s without a run\n",
                 device.name.c_str());
  }
  const profile::ProblemFacts facts = TRY(search::FactsOf(device, loaded.task, loaded.workload));
  const Profile profile = TRY(search::ProfileOf(machine, loaded.task, loaded.workload,
                                                candidates.front().second, options.ncu));
  const auto size = [](const auto& one) { return one.first + " = " + std::to_string(one.second); };
  if (!options.common.json && !options.model) {
    std::printf("workload '%s': %s\n", loaded.workload.name.c_str(),
                Joined(loaded.workload.sizes, ", ", size).c_str());
  }
  Print(options, profile, facts);
  return 0;
}

}  // namespace

void AddProfile(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command = app.add_subcommand("profile", "what a candidate's time goes to, and why");
  auto options = std::make_shared<ProfileOptions>();
  command->add_option("task", options->task, kTaskHelp);
  command->add_option("candidate", options->candidate, "candidate.toml or folder");
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_option("--from", options->from, "read this report of 'ncu --csv --page raw'");
  command->add_option("--ncu", options->ncu, "Nsight Compute's program");
  command->add_flag("--model", options->model, "print the block for a model's prompt");
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunProfile);
}

}  // namespace warpsmith::cli
