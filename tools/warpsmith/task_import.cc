#include <unistd.h>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "report/text_table.h"
#include "task/kernelbench/import.h"

namespace warpsmith::cli {
namespace {

using kernelbench::ImportResult;
using kernelbench::ImportRow;

std::string Size(int64_t bytes) {
  if (bytes == 0) return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string Count(const ImportResult& result, const std::string& outcome) {
  int64_t count = 0;
  for (const ImportRow& row : result.rows) count += row.result == outcome ? 1 : 0;
  return std::to_string(count) + " " + outcome;
}

void PrintTable(const ImportResult& result) {
  std::vector<std::vector<report::Cell>> rows;
  for (const ImportRow& row : result.rows) {
    const bool refused = row.result == "refused";
    rows.push_back({{row.problem},
                    {row.result, refused ? report::Tone::kBad : report::Tone::kGood},
                    {Size(row.bytes)},
                    {row.reason}});
  }
  const std::vector<report::Column> columns = {
      {"problem"}, {"result"}, {"tensors", report::Align::kRight}, {"reason"}};
  const auto colour = isatty(STDOUT_FILENO) == 1 ? report::Colour::kAnsi : report::Colour::kNone;
  std::fputs(report::RenderTable(columns, rows, colour).c_str(), stdout);
  const size_t count = result.rows.size();
  std::printf("\n%s: %zu %s, %s, %s, %s\n", result.set.c_str(), count,
              count == 1 ? "problem" : "problems", Count(result, "imported").c_str(),
              Count(result, "kept").c_str(), Count(result, "refused").c_str());
}

void PrintJson(const ImportResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ImportRow& row : result.rows) {
    rows.push_back({{"problem", row.problem},
                    {"result", row.result},
                    {"bytes", row.bytes},
                    {"folder", row.folder},
                    {"reason", row.reason}});
  }
  PrintDocument("import", {{"set", result.set}, {"problems", rows}});
}

kernelbench::ImportOptions OptionsOf(const TaskImportOptions& options) {
  return {.checkout = options.checkout,
          .output = options.output,
          .modules = options.python,
          .only = options.only,
          .set = options.set,
          .dtype = options.dtype,
          .jobs = options.jobs,
          .limit_seconds = options.limit_seconds};
}

}  // namespace

Result<int> RunTaskImport(const TaskImportOptions& options) {
  const bool quiet = options.common.quiet || options.common.json;
  const ImportResult result =
      TRY(kernelbench::Import(OptionsOf(options), [quiet](const ImportRow& row) {
        if (!quiet) std::fprintf(stderr, "%s: %s\n", row.problem.c_str(), row.result.c_str());
      }));
  if (options.common.json) {
    PrintJson(result);
  } else {
    PrintTable(result);
  }
  for (const ImportRow& row : result.rows) {
    if (row.result != "refused") return 0;
  }
  return 1;  // the answer is no: none could be imported
}

}  // namespace warpsmith::cli
