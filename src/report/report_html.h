// A report as one HTML file (page_template.h).
#ifndef WARPSMITH_REPORT_REPORT_HTML_H_
#define WARPSMITH_REPORT_REPORT_HTML_H_

#include <string>

#include "report/run_report.h"

namespace warpsmith::report {

std::string ToHtml(const RunReport& report);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_REPORT_HTML_H_
