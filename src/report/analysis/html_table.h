// Tables and cards of a page, as markup.
#ifndef WARPSMITH_REPORT_ANALYSIS_HTML_TABLE_H_
#define WARPSMITH_REPORT_ANALYSIS_HTML_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::analysis {

struct Cell {
  std::string html;
  std::string_view style;  // a class, such as "number"
};
using TableRow = std::vector<Cell>;

// The head's styles are those of their columns.
std::string Table(const TableRow& head, const std::vector<TableRow>& rows);

std::string Card(std::string_view heading, std::string_view about, std::string_view contents);

// Each sentence is text.
std::string List(const std::vector<std::string>& sentences);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_HTML_TABLE_H_
