// Many verdicts told as one: how many were right, how fast those are, how the others failed.
#ifndef WARPSMITH_REPORT_SUITE_H_
#define WARPSMITH_REPORT_SUITE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/verdict.h"

namespace warpsmith::report {

struct SuiteRow {
  std::string task, workload, candidate;
  Verdict verdict;
  bool headline = true;  // false: the task is not fit for summaries (task check)
};

// The first mode of a passed verdict's first timing, or null.
const ModeTiming* FirstTiming(const Verdict& verdict);
// One or two words for how a verdict failed: "incorrect: bound", "rejected: late-write".
std::string FailureKind(const Outcome& outcome);

// Over the rows with headline. Ratios are to the bar, the first baseline: above 1 is faster.
struct SuiteSummary {
  int total = 0, kept_out = 0;
  int valid = 0;       // passed
  int compared = 0;    // passed and compared with a bar
  int suspicious = 0;  // below their roofline bound: counted as valid, left out of every ratio
  double geomean = 0;
  Interval interval;  // of the geomean over tasks, Student's t on logarithms
  double median = 0, least = 0, most = 0;
  // Share of all rows that are right and more than p times as fast as the bar (KernelBench's
  // fast_p, strict).
  std::vector<std::pair<double, double>> fast_p;
  std::optional<double> median_of_roofline;  // roofline / time: 1 is the limit
  std::map<std::string, int> failures;       // FailureKind -> rows
};
SuiteSummary SummariseSuite(const std::vector<SuiteRow>& rows, double confidence);

std::string RenderSuite(const std::vector<SuiteRow>& rows, const SuiteSummary& summary);
// One row a verdict; docs/evaluate.md has the columns.
std::string SuiteCsv(const std::vector<SuiteRow>& rows);
std::string SuiteJson(const std::vector<SuiteRow>& rows, const SuiteSummary& summary);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_SUITE_H_
