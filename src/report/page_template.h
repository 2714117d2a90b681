// A page of ours as one HTML file that needs nothing else: script, style and plotting library are
// inside, and its content security policy forbids every request.
#ifndef WARPSMITH_REPORT_PAGE_TEMPLATE_H_
#define WARPSMITH_REPORT_PAGE_TEMPLATE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace warpsmith::report {

// `script`: a file of src/report/page, which draws the page from `data`. Only the title stands in
// markup; everything else reaches the page through JSON and text nodes.
std::string FillPage(std::string_view title, std::string_view script, const nlohmann::json& data);

// For text nodes and quoted attributes.
std::string EscapeHtml(std::string_view text);

// JSON that may stand inside a <script> element: nothing in it can end the element or open a
// comment.
std::string EscapeForScript(std::string_view json);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_PAGE_TEMPLATE_H_
