// Searches, by their short names, and what a command says of one: what it would do, its report, and
// its exit status.
#ifndef WARPSMITH_TOOLS_SEARCH_H_
#define WARPSMITH_TOOLS_SEARCH_H_

#include <string>
#include <vector>

#include "machine.h"
#include "options.h"
#include "report/run_report.h"
#include "search/tuning/search.h"

namespace warpsmith::cli {

using search::FinalProtocol;
using search::HgemmSearch;
using search::LikeliestPoint;
using search::Overrule;
using search::RunName;
using search::Search;
using search::SearchContext;
using search::SearchEnd;
using search::SearchJob;
using search::SearchProtocol;

// What --dry-run answers: how many configurations each job has, and how long all would take.
struct DryRunRow {
  std::string label;
  size_t configurations = 0;
  int64_t evaluations = 0;
};
void PrintDryRun(const std::vector<DryRunRow>& rows, double seconds, bool json);

// Device, driver and dates of what was measured, from the winners' evidence.
report::Origin OriginOf(Machine& machine, const std::vector<SearchEnd>& ends,
                        const std::string& command);

// Writes the files that were asked for and prints the table (or the JSON) to stdout.
Status Publish(const report::RunReport& report, const ReportFiles& files, bool json);

// 1 when a --fail-on condition holds, else 0. "regression": a winner slower than the bar, or none;
// "incorrect": any candidate with a wrong result.
Result<int> ExitStatus(const report::RunReport& report, const std::string& fail_on);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_SEARCH_H_
