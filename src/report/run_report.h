// What a report says, as plain values: every output (terminal, JSON, CSV, HTML) is made from one
// RunReport and from nothing else.
#ifndef WARPSMITH_REPORT_RUN_REPORT_H_
#define WARPSMITH_REPORT_RUN_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/expression.h"
#include "core/protocol.h"
#include "core/verdict.h"

namespace warpsmith::report {

// Where the numbers come from. `device`, `driver`, `toolkit` and `date` are those of the
// measurement, which for a replay are not those of the machine that wrote the report.
struct Origin {
  std::string device, driver, toolkit, baseline_library, date;
  std::string command;    // what was run, for a person to run again
  std::string recording;  // the recording's file; empty: measured live
  std::string program;    // "warpsmith 0.1.0 (commit)"
};

// The best ratio seen in the first `evaluations` evaluations.
struct ProgressPoint {
  int64_t evaluations = 0;
  double best_ratio = 0;
};

// The winner in one mode against the bar (the task's first baseline).
struct WinnerRow {
  Mode mode = Mode::kDeviceHot;
  Level level = Level::kScreened;
  std::string config, primary;
  double ours_us = 0, primary_us = 0;
  double ratio = 0;  // above 1: ours is faster
  Interval interval;
  Finding finding = Finding::kNotShown;
  double roofline_us = 0;
  double aa_noise = 0;  // 0: not measured
  bool below_roofline = false;
};

struct BaselineRow {
  std::string name;  // "cublaslt-auto"
  Mode mode = Mode::kDeviceHot;
  double us = 0;
};

struct FailureCount {
  std::string kind;     // "incorrect", "compile-failed", ...; "declined": the model gave no kernel
  std::string example;  // one of them in a line
  int64_t count = 0;
};

struct FailedEvaluation {
  int64_t evaluation = 0;  // which of the run's, from 1
  std::string kind, why;   // as above; in a line
};

struct ShapeReport {
  std::string task, workload;
  Sizes sizes;
  Mode headline = Mode::kDeviceHot;  // which of its modes decides; progress is in it
  int64_t evaluations = 0, passed = 0;
  double gpu_seconds = 0;
  std::vector<ProgressPoint> progress;  // rising in both
  std::vector<WinnerRow> winners;       // one a mode; empty when nothing passed
  std::vector<BaselineRow> baselines;
  std::vector<FailureCount> failures;
  std::vector<FailedEvaluation> failed;  // each of them, in order
  // Of the winner, and of the first candidate that passed. Empty for points of a family.
  std::string source, first_source;
};

// Evaluations that a search proposer needed to reach `fraction` of a space's best.
struct ProposerRow {
  std::string space, proposer;
  double fraction = 0;
  double lower_quartile = 0, median = 0, upper_quartile = 0;
  int seeds = 0;
};

struct RunReport {
  std::string title;
  Origin origin;
  std::vector<ShapeReport> shapes;
  std::vector<ProposerRow> proposers;  // empty: not compared
};

inline constexpr int kReportVersion = 1;

// Schema "warpsmith.report". What the HTML page draws from, too.
nlohmann::json ToJson(const RunReport& report);

// One HTML file (FillPage).
std::string ToHtml(const RunReport& report);

// CSV (RFC 4180), preceded by '#' lines that say device, driver, date and command:
//   m,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us
// One row a shape and mode, in the report's order. lt_auto_us is the bar's time; a size that the
// workload does not have is an empty cell.
std::string ToCsv(const RunReport& report);

// A cell: quoted where it must be, and never something that a spreadsheet takes for a formula.
std::string CsvCell(std::string_view text);

// --- A page of ours as one HTML file that needs nothing else: script, style and plotting library
// are inside, and its content security policy forbids every request.

// `script`: a file of src/report/page, which draws the page from `data`. Only the title stands in
// markup; everything else reaches the page through JSON and text nodes.
std::string FillPage(std::string_view title, std::string_view script, const nlohmann::json& data);

// For text nodes and quoted attributes.
std::string EscapeHtml(std::string_view text);

// JSON that may stand inside a <script> element: nothing in it can end the element or open a
// comment.
std::string EscapeForScript(std::string_view json);

}  // namespace warpsmith::report

#endif  // WARPSMITH_REPORT_RUN_REPORT_H_
