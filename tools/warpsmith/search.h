// What a command says of searches: what they would do, their report, and its exit status.
#ifndef WARPSMITH_TOOLS_SEARCH_H_
#define WARPSMITH_TOOLS_SEARCH_H_

#include <string>
#include <vector>

#include "options.h"
#include "report/run_comparison.h"
#include "report/run_report.h"
#include "search/tuning/search.h"

namespace warpsmith::cli {

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

#endif  // WARPSMITH_TOOLS_SEARCH_H_
