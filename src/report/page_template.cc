#include "report/page_template.h"

#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/json_reader.h"
#include "base/result.h"
#include "embedded/chart_js.h"
#include "embedded/report_page.h"

namespace warpsmith::report {
namespace {

std::string_view EmbeddedText(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.path.ends_with(name)) return file.contents;
  }
  CHECK(!"the file was not embedded");
  return {};
}

// One pass over the template: what is filled in is never looked at again, so "{{data}}" in a
// candidate's text is only text.
std::string Fill(std::string_view text,
                 const std::map<std::string_view, std::string_view>& values) {
  std::string filled;
  for (;;) {
    const size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const size_t close = text.find("}}", open);
    CHECK(close != std::string_view::npos);
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    CHECK(value != values.end());
    filled += value->second;
    text.remove_prefix(close + 2);
  }
}

std::string Escaped(std::string_view text, const std::map<char, std::string_view>& escapes) {
  std::string escaped;
  for (const char c : text) {
    const auto escape = escapes.find(c);
    escaped += escape == escapes.end() ? std::string_view(&c, 1) : escape->second;
  }
  return escaped;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  return Escaped(text,
                 {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string EscapeForScript(std::string_view json) {
  return Escaped(json, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string FillPage(std::string_view title, std::string_view script, const nlohmann::json& data) {
  const std::span<const EmbeddedFile> page = embedded::ReportPage();
  const std::string escaped_title = EscapeHtml(title);
  const std::string escaped_data = EscapeForScript(JsonText(data));
  return Fill(EmbeddedText(page, "/page.html"),
              {{"title", escaped_title},
               {"style", EmbeddedText(page, "page.css")},
               {"chart_js", EmbeddedText(embedded::ChartJs(), "chart.min.js")},
               {"chart_parts", EmbeddedText(page, "chart_parts.js")},
               {"page_parts", EmbeddedText(page, "page_parts.js")},
               {"script", EmbeddedText(page, script)},
               {"data", escaped_data}});
}

}  // namespace warpsmith::report
