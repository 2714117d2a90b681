#include "report/page_template.h"

#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/result.h"
#include "embedded/chart_js.h"
#include "embedded/report_page.h"
#include "report/report_json.h"

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

// `allowed`: of a content security policy, what the page needs beside its style.
std::string Head(std::string_view title, std::string_view allowed, std::string_view more_style) {
  const std::span<const EmbeddedFile> page = embedded::ReportPage();
  const std::string escaped_title = EscapeHtml(title);
  std::string style(EmbeddedText(page, "page.css"));
  style += more_style;
  return Fill(EmbeddedText(page, "head.html"),
              {{"title", escaped_title}, {"allowed", allowed}, {"style", style}});
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string EscapeForScript(std::string_view json) {
  std::string escaped;
  for (const char c : json) {
    switch (c) {
      case '<':
        escaped += "\\u003c";
        break;
      case '>':
        escaped += "\\u003e";
        break;
      case '&':
        escaped += "\\u0026";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string FillPage(std::string_view title, std::string_view script, const nlohmann::json& data) {
  const std::span<const EmbeddedFile> page = embedded::ReportPage();
  const std::string escaped_title = EscapeHtml(title);
  const std::string escaped_data = EscapeForScript(DumpJson(data, -1));
  const std::string head = Head(title, "script-src 'unsafe-inline'; img-src data:; ", "");
  return Fill(EmbeddedText(page, "/page.html"),
              {{"head", head},
               {"title", escaped_title},
               {"chart_js", EmbeddedText(embedded::ChartJs(), "chart.min.js")},
               {"chart_parts", EmbeddedText(page, "chart_parts.js")},
               {"page_parts", EmbeddedText(page, "page_parts.js")},
               {"script", EmbeddedText(page, script)},
               {"data", escaped_data}});
}

std::string FillStaticPage(std::string_view title, std::string_view subtitle,
                           std::string_view more_style, std::string_view body) {
  const std::string escaped_title = EscapeHtml(title);
  const std::string escaped_subtitle = EscapeHtml(subtitle);
  const std::string head = Head(title, "", more_style);
  return Fill(
      EmbeddedText(embedded::ReportPage(), "static_page.html"),
      {{"head", head}, {"title", escaped_title}, {"subtitle", escaped_subtitle}, {"body", body}});
}

}  // namespace warpsmith::report
