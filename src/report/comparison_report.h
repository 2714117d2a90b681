// A comparison of runs for people: tables, a CSV, a JSON document, a page.
#ifndef WARPSMITH_REPORT_COMPARISON_REPORT_H_
#define WARPSMITH_REPORT_COMPARISON_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/run_comparison.h"
#include "report/text_table.h"

namespace warpsmith::report {

inline constexpr int kComparisonVersion = 1;

std::string RenderComparison(const RunComparison& comparison, Colour colour);
// One row a side and task.
std::string ToCsv(const RunComparison& comparison);
nlohmann::json ToJson(const RunComparison& comparison);
std::string ToHtml(const RunComparison& comparison);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_COMPARISON_REPORT_H_
