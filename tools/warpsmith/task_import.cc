#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>

#include "agent/runs/task_split.h"
#include "base/display_text.h"
#include "commands.h"
#include "report/terminal.h"
#include "task/kernelbench/import.h"
#include "task/scaffold.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

void PrintJson(const std::string& folder, const task::Scaffold& scaffold) {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& [path, text] : scaffold.files) files.push_back(path);
  PrintDocument("task-init", {{"folder", folder}, {"files", files}, {"notes", scaffold.notes}});
}

void PrintText(const std::string& folder, const task::Scaffold& scaffold) {
  for (const auto& [path, text] : scaffold.files) {
    std::printf("wrote %s/%s\n", folder.c_str(), path.c_str());
  }
  for (const std::string& note : scaffold.notes) {
    std::printf("note: %s\n", LinesForTerminal(note).c_str());
  }
  std::printf(
      "\nSay in %s/reference.py what is right and check the sizes in %s/task.toml, then:\n"
      "  warpsmith task check %s\n"
      "  warpsmith evaluate %s %s/current\n",
      folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str());
}

void PrintJson(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  nlohmann::json parts = nlohmann::json::array();
  for (const split::Part& part : proven.parts) {
    parts.push_back({{"folder", part.name}, {"task", part.task.name}});
  }
  PrintDocument("task-split", {{"folder", options.into},
                               {"parts", parts},
                               {"worst_fraction", proven.proof.worst},
                               {"confined", proven.proof.confined},
                               {"comparisons", proven.proof.comparisons}});
}

void PrintText(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  const std::string& into = options.into;
  for (const split::Part& part : proven.parts) {
    std::printf("wrote %s/%s: %s\n", into.c_str(), part.name.c_str(), part.task.name.c_str());
  }
  // What a machine without one cannot do is no reason to stop: the rules have passed the text.
  if (!proven.proof.confined.starts_with("L1") && !proven.proof.confined.starts_with("L2")) {
    std::printf("note: the model's references ran without a whole sandbox (%s)\n",
                proven.proof.confined.c_str());
  }
  std::printf(
      "the parts compose to the whole: the largest error is %.2g of its bound (%s, workload %s; "
      "%ld outputs compared)\n\nNow, for each part, and then for the whole:\n",
      proven.proof.worst, proven.proof.output.c_str(), proven.proof.workload.c_str(),
      static_cast<long>(proven.proof.comparisons));
  for (const split::Part& part : proven.parts) {
    std::printf("  warpsmith optimize %s/%s --proposer agent --model ...\n", into.c_str(),
                part.name.c_str());
  }
  std::printf("  warpsmith optimize %s --parts %s --proposer agent --model ...\n",
              options.task.c_str(), into.c_str());
}

using kernelbench::ImportResult;
using kernelbench::ImportRow;

std::string Size(int64_t bytes) {
  if (bytes == 0) return "";
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
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

Result<int> RunTaskInit(const TaskInitOptions& options) {
  const task::ScaffoldInput input = TRY(task::ReadScaffoldInput(options.source, options.function));
  const task::Scaffold scaffold = TRY(task::MakeScaffold(input));
  const std::string folder = options.output.empty() ? input.name : options.output;
  TRY(task::WriteScaffold(scaffold, folder));
  const auto loaded = task::LoadTask(folder);
  if (!loaded.ok()) {
    return Error{ErrorCode::kBadInput, "what was guessed is no task yet: " + loaded.error().message,
                 "correct the files in " + folder};
  }
  if (options.common.json) {
    PrintJson(folder, scaffold);
  } else {
    PrintText(folder, scaffold);
  }
  return 0;
}

Result<int> RunTaskSplit(const agent::TaskSplitOptions& options) {
  const agent::ProvenSplit proven = TRY(agent::SplitTask(options));
  if (options.common.json) {
    PrintJson(options, proven);
  } else {
    PrintText(options, proven);
  }
  return 0;
}

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
