// What the subcommands share: options and commands that another command or a test calls, and how
// they answer. A command returns the process's exit status, or the Error that decides it.
#ifndef WARPSMITH_TOOLS_COMMANDS_H_
#define WARPSMITH_TOOLS_COMMANDS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runs/models_by_role.h"
#include "agent/runs/task_split.h"
#include "base/result.h"
#include "hgemm/bench/options.h"
#include "hgemm/bench/tune.h"
#include "report/run_comparison.h"
#include "report/run_report.h"
#include "search/tuning/search.h"

namespace warpsmith::cli {

// Parses, runs, prints errors (one line on stderr; with --json a document on stdout), and returns
// the exit status.
int Main(int argc, char** argv);

struct ReportFiles {
  std::string html, csv, json;
};

struct TuneOptions : hgemm::TuneOptions {
  ReportFiles files;
  bool compile_winners = false;  // when replaying: build the winners for real
  bool compare_proposers = false;
};
Result<int> RunHgemmTune(const TuneOptions& options);

struct OptimizeOptions : agent::RunOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  ReportFiles files;
  std::string task, workload;
};
// Of --proposer agent: a language model writes the kernels.
Result<int> RunAgent(const OptimizeOptions& options);

struct TaskCheckOptions {
  search::CommonOptions common;
  search::DeviceOptions device;
  std::string task;
  bool text_only = false;   // nothing is run, even where there is a GPU
  int limit_seconds = 600;  // of a split: for comparing its parts with the whole
};
// 1 where the task is refused.
Result<int> RunTaskCheck(const TaskCheckOptions& options);
Result<int> RunTaskSplit(const agent::TaskSplitOptions& options);

// --- Answers.

// A document of --json as text; bytes that are no text are replaced. `indent` -1: one line.
std::string Document(std::string_view schema, nlohmann::json fields, int indent);
// The one document that --json puts on stdout.
void PrintDocument(std::string_view schema, nlohmann::json fields);
// That of an interrupted call, else 0.
int StatusNow();

// docs/commands.md, from the table in base/error.cc.
std::string ExitCodesMarkdown();
std::string ErrorJson(const Error& error);  // the document of --json, in one line

// --- What a command says of searches: what they would do, their report, and its exit status.

// What --dry-run answers: how many configurations each has, and how long all would take.
void PrintDryRun(const std::vector<hgemm::PlannedSearch>& rows, bool json);

// Device, driver and dates of what was measured, from the winners' evidence.
report::Origin OriginOf(search::Machine& machine, const std::vector<search::SearchEnd>& ends,
                        const std::string& command);

// Where verdicts come from, on stderr: said of what measures before it began, of a replay after it
// has answered, so that a refusal stands alone.
void SayOrigin(search::Machine& machine, const search::CommonOptions& common, bool has_answered);

// Writes the files that were asked for and prints the table (or the JSON) to stdout.
Status Publish(const report::RunReport& report, const ReportFiles& files, bool json);
Status Publish(const report::RunComparison& comparison, const ReportFiles& files, bool json);

// 1 when a --fail-on condition holds, else 0. "regression": a winner slower than the bar, or none;
// "incorrect": any candidate with a wrong result.
Result<int> ExitStatus(const report::RunReport& report, const std::string& fail_on);

// Compiles every winner with the compiler that is here, and prints its resources beside those of
// the recorded artifact. Without a compiler it says so and what to do; that is no Error.
Status CompileWinners(search::Machine& machine, const std::vector<search::SearchEnd>& ends);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_COMMANDS_H_
