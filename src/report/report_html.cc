#include "report/report_html.h"

#include <nlohmann/json.hpp>

#include "report/page_template.h"
#include "report/report_json.h"

namespace warpsmith::report {

std::string ToHtml(const RunReport& report) {
  return FillPage(report.title, "report.js", ToJson(report));
}

}  // namespace warpsmith::report
