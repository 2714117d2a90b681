// A report as one HTML file that needs nothing else: script, style and plotting library are inside,
// and its content security policy forbids every request.
#ifndef WARPSMITH_REPORT_REPORT_HTML_H_
#define WARPSMITH_REPORT_REPORT_HTML_H_

#include <string>
#include <string_view>

#include "report/run_report.h"

namespace warpsmith::report {

std::string ToHtml(const RunReport& report);

// For text nodes and quoted attributes.
std::string EscapeHtml(std::string_view text);

// JSON that may stand inside a <script> element: nothing in it can end the element or open a
// comment.
std::string EscapeForScript(std::string_view json);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_REPORT_HTML_H_
