// What the subcommands are made of. A command's options, what it does and its command line stand
// together in one file, which ends with its Add...; AddAll (command_line.cc) calls all of these.
// Options that several commands have are added here.
#ifndef WARPSMITH_TOOLS_COMMAND_TREE_H_
#define WARPSMITH_TOOLS_COMMAND_TREE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "commands.h"

namespace warpsmith::cli {

// What an option's text must look like, said before anything runs. Each check answers with what is
// wrong, or with nothing.

// A finite number from 0.
std::string CheckSeconds(const std::string& text);
// Digits only: option parsers take "-1" for a large unsigned number.
std::string CheckWholeNumber(const std::string& text);
// regression, incorrect or never, separated by commas.
std::string CheckFailOn(const std::string& text);
// A file that could be written: its folder exists. Said now, not after the search.
std::string CheckOutputFile(const std::string& path);

// Whether an argument asks for JSON: known even where the command line cannot be parsed.
bool AsksForJson(int argc, const char* const* argv);
// Our documents and the store hold UTF-8. Empty when all arguments are.
std::string CheckIsUtf8(int argc, const char* const* argv);

// Set by the subcommand that was chosen.
struct SelectedCommand {
  std::function<Result<int>()> run;
  bool json = false;
  std::string command;  // what the user wrote
};

template <typename Options>
void Choose(CLI::App* command, SelectedCommand& chosen, std::shared_ptr<Options> options,
            Result<int> (*run)(const Options&)) {
  command->add_flag("--json", options->common.json, "one JSON document on stdout, errors too");
  command->add_flag("-q,--quiet", options->common.quiet, "no progress on stderr");
  command->callback([&chosen, options, run] {
    chosen.json = options->common.json;
    options->common.command = chosen.command;
    chosen.run = [options, run] { return run(*options); };
  });
}

inline constexpr char kTaskHelp[] = "task.toml, its folder, or hgemm:MxNxK:TN[:bf16]";

void AddOwnDevice(CLI::App* command, search::DeviceOptions& device);
// With the options of a server that judges.
void AddDevice(CLI::App* command, search::DeviceOptions& device);
void AddPace(CLI::App* command, search::PaceOptions& pace);
void AddDType(CLI::App* command, hgemm::ProductOptions& product,
              const std::vector<std::string>& values = {"f16", "bf16"});
void AddProduct(CLI::App* command, hgemm::ProductOptions& product);
void AddSearch(CLI::App* command, search::SearchOptions& search,
               const std::vector<std::string>& proposers = {"guided", "brief", "local", "random"});
void AddReportFiles(CLI::App* command, ReportFiles& files);
void AddTuneLike(CLI::App* command, TuneOptions& options);

// The subcommands.
void AddBundle(CLI::App& app, SelectedCommand& chosen);
void AddCompare(CLI::App& app, SelectedCommand& chosen);
void AddDemo(CLI::App& app, SelectedCommand& chosen);
void AddDoctor(CLI::App& app, SelectedCommand& chosen);
void AddEvaluate(CLI::App& app, SelectedCommand& chosen);
void AddExport(CLI::App& app, SelectedCommand& chosen);
void AddHgemm(CLI::App& app, SelectedCommand& chosen);
void AddHgemmCatalogue(CLI::App* hgemm, SelectedCommand& chosen);
void AddHgemmFeatures(CLI::App* hgemm, SelectedCommand& chosen);
void AddHgemmShow(CLI::App* hgemm, SelectedCommand& chosen);
void AddKnowledge(CLI::App& app, SelectedCommand& chosen);
void AddMcp(CLI::App& app, SelectedCommand& chosen);
void AddOptimize(CLI::App& app, SelectedCommand& chosen);
void AddProfile(CLI::App& app, SelectedCommand& chosen);
void AddRecord(CLI::App& app, SelectedCommand& chosen);
void AddReport(CLI::App& app, SelectedCommand& chosen);
void AddServe(CLI::App& app, SelectedCommand& chosen);
void AddStore(CLI::App& app, SelectedCommand& chosen);
void AddTask(CLI::App& app, SelectedCommand& chosen);

// --- Shell completion and the manual page, made by walking the command tree: nothing has to be kept
// in step by hand.

// `shell`: bash, zsh or fish.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

// For man(1): every command with its options and their defaults, and the exit statuses.
std::string ManualPage(const CLI::App& app, const std::string& version);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMMAND_TREE_H_
