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
using kernelbench::Outcome;

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kImported:
      return "imported";
    case Outcome::kKept:
      return "kept";
    case Outcome::kRefused:
      break;
  }
  return "refused";
}

std::string Size(int64_t bytes) {
  if (bytes == 0) return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string Count(const ImportResult& result, Outcome outcome) {
  int64_t count = 0;
  for (const ImportRow& row : result.rows) count += row.outcome == outcome ? 1 : 0;
  return std::to_string(count) + " " + Name(outcome);
}

void PrintTable(const ImportResult& result) {
  std::vector<std::vector<report::Cell>> rows;
  for (const ImportRow& row : result.rows) {
    const bool refused = row.outcome == Outcome::kRefused;
    rows.push_back({{row.problem},
                    {Name(row.outcome), refused ? report::Tone::kBad : report::Tone::kGood},
                    {Size(row.bytes)},
                    {row.text}});
  }
  const std::vector<report::Column> columns = {
      {"problem"}, {"result"}, {"tensors", report::Align::kRight}, {"reason"}};
  const auto colour = isatty(STDOUT_FILENO) == 1 ? report::Colour::kAnsi : report::Colour::kNone;
  std::fputs(report::RenderTable(columns, rows, colour).c_str(), stdout);
  const size_t count = result.rows.size();
  std::printf("\n%s: %zu %s, %s, %s, %s\n", result.set.c_str(), count,
              count == 1 ? "problem" : "problems", Count(result, Outcome::kImported).c_str(),
              Count(result, Outcome::kKept).c_str(), Count(result, Outcome::kRefused).c_str());
}

void PrintJson(const ImportResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ImportRow& row : result.rows) {
    rows.push_back({{"problem", row.problem},
                    {"result", Name(row.outcome)},
                    {"bytes", row.bytes},
                    {"folder", row.folder},
                    {"reason", row.text}});
  }
  PrintDocument("import", {{"set", result.set}, {"problems", rows}});
}

kernelbench::ImportOptions OptionsOf(const TaskImportOptions& options) {
  return {.checkout = options.checkout,
          .output = options.output,
          .modules = options.python,
          .only = options.only,
          .set = options.set,
          .dtype = DTypeFromName(options.dtype),
          .jobs = options.jobs,
          .limit_seconds = options.limit_seconds};
}

}  // namespace

Result<int> RunTaskImport(const TaskImportOptions& options) {
  const bool quiet = options.common.quiet || options.common.json;
  const ImportResult result =
      TRY(kernelbench::Import(OptionsOf(options), [quiet](const ImportRow& row) {
        if (!quiet) std::fprintf(stderr, "%s: %s\n", row.problem.c_str(), Name(row.outcome));
      }));
  if (options.common.json) {
    PrintJson(result);
  } else {
    PrintTable(result);
  }
  for (const ImportRow& row : result.rows) {
    if (row.outcome != Outcome::kRefused) return 0;
  }
  return 1;  // the answer is no: none could be imported
}

}  // namespace warpsmith::cli
