// A report as CSV (RFC 4180), preceded by '#' lines that say device, driver, date and command:
//   m,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us
#ifndef WARPSMITH_REPORT_REPORT_CSV_H_
#define WARPSMITH_REPORT_REPORT_CSV_H_

#include <string>
#include <string_view>

#include "report/run_report.h"

namespace warpsmith::report {

// One row a shape and mode, in the report's order. lt_auto_us is the bar's time; a size that the
// workload does not have is an empty cell.
std::string ToCsv(const RunReport& report);

// A cell: quoted where it must be, and never something that a spreadsheet takes for a formula.
std::string CsvCell(std::string_view text);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_REPORT_CSV_H_
