// What `hgemm bench` says of the libraries' times.
#ifndef WARPSMITH_TOOLS_LIBRARY_REPORT_H_
#define WARPSMITH_TOOLS_LIBRARY_REPORT_H_

#include "base/result.h"
#include "hgemm/library_times.h"
#include "judge/baseline/bar_table.h"

namespace warpsmith::cli {

// All rows on stdout, as a table or as JSON (`warpsmith.baselines`, version 1), and what the bar is
// worth. `replayed`: out of a recording, which cannot tell.
void Print(const hgemm::LibraryTable& table, bool replayed, bool json);

// On stderr: where the bar in a hot graph differs from known times.
Status TellDifferences(const hgemm::LibraryTable& table, const baseline::BarTable& known);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_LIBRARY_REPORT_H_
