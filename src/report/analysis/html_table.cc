#include "report/analysis/html_table.h"

#include "report/page_template.h"

namespace warpsmith::analysis {
namespace {

std::string RowHtml(const TableRow& row, std::string_view open, std::string_view element) {
  std::string html = "<tr>";
  for (const Cell& cell : row) {
    html += "<" + std::string(open);
    if (!cell.style.empty()) html += " class=\"" + std::string(cell.style) + "\"";
    html += ">" + cell.html + "</" + std::string(element) + ">";
  }
  return html + "</tr>\n";
}

}  // namespace

std::string Table(const TableRow& head, const std::vector<TableRow>& rows) {
  std::string html = "<div class=\"scroll\"><table><thead>" +
                     RowHtml(head, "th scope=\"col\"", "th") + "</thead><tbody>\n";
  for (const TableRow& row : rows) html += RowHtml(row, "td", "td");
  return html + "</tbody></table></div>\n";
}

std::string Card(std::string_view heading, std::string_view about, std::string_view contents) {
  std::string html = "<section class=\"card\"><h2>" + report::EscapeHtml(heading) + "</h2>\n";
  if (!about.empty()) html += "<p class=\"muted\">" + report::EscapeHtml(about) + "</p>\n";
  return html + std::string(contents) + "</section>\n";
}

std::string List(const std::vector<std::string>& sentences) {
  std::string html = "<ul class=\"findings\">\n";
  for (const std::string& sentence : sentences) {
    html += "<li>" + report::EscapeHtml(sentence) + "</li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace warpsmith::analysis
