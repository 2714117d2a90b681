// A report as JSON: schema "warpsmith.report", versioned. What the HTML page draws from, too.
#ifndef WARPSMITH_REPORT_REPORT_JSON_H_
#define WARPSMITH_REPORT_REPORT_JSON_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "report/run_report.h"

namespace warpsmith::report {

inline constexpr int kReportVersion = 1;

nlohmann::json ToJson(const RunReport& report);

// Text of any JSON. Bytes that are not UTF-8 (candidate text may hold anything) become U+FFFD.
std::string DumpJson(const nlohmann::json& json, int indent = 1);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_REPORT_JSON_H_
