#include <fmt/core.h>

#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "commands.h"
#include "report/suite.h"
#include "report/text_table.h"
#include "reproducing.h"
#include "search.h"
#include "search/call_time.h"
#include "search/evaluation/judging.h"
#include "search/slice.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kConfidence = 0.95;

std::string Relative(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return relative.empty() || relative == "." ? path.filename().string() : relative.string();
}

// The harness's trouble with one entry: told in the table.
report::SuiteRow NotJudged(const search::SuiteEntry& entry, const fs::path& root,
                           const Error& error) {
  return {Relative(entry.task, root), "", Relative(entry.candidate, entry.task),
          Verdict{Inconclusive{error.Line()}, {}}};
}

bool IsDegenerate(const Verdict& verdict) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  return passed != nullptr && !passed->correctness.degenerate.empty();
}

Result<std::vector<report::SuiteRow>> JudgeEntry(search::Machine& machine,
                                                 const search::SuiteEntry& entry,
                                                 const fs::path& root,
                                                 const EvaluateOptions& options) {
  const task::LoadedTask loaded = TRY(search::LoadJudgeable(entry.task.string(), ""));
  const auto candidates = TRY(task::LoadCandidates({entry.candidate.string()}));
  std::vector<report::SuiteRow> rows;
  for (search::JudgedCandidate& one :
       TRY(search::JudgeCandidates(machine, loaded, ProtocolOf(options), candidates))) {
    rows.push_back({Relative(entry.task, root), loaded.workload.name,
                    Relative(entry.candidate, entry.task), one.verdict(),
                    loaded.task.headline && !IsDegenerate(one.verdict())});
    if (options.reproduce.empty()) continue;
    one.name = rows.back().candidate;
    const std::string name = ReproductionName(rows.back().task, rows.back().workload, one);
    TRY(TryReproduction(machine, loaded, one, fs::path(options.reproduce) / name));
  }
  return rows;
}

void SayProgress(const report::SuiteRow& row, size_t done, size_t all) {
  std::fprintf(stderr, "[%zu/%zu] %s %s: %s\n", done, all, row.task.c_str(), row.candidate.c_str(),
               report::Printable(Describe(row.verdict.outcome)).c_str());
}

bool StopsAll(const Error& error) {
  return error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kUnavailable;
}

}  // namespace

Result<int> RunEvaluateMany(const EvaluateOptions& options) {
  const fs::path root(options.many);
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const std::vector<search::SuiteEntry> entries =
      search::TakeSlice(slice, TRY(search::FindEntries(root)));
  // Now, not after the first verdict, is when to hear that it cannot be written.
  if (!options.csv.empty() && !fs::exists(options.csv)) {
    TRY(WriteFileAtomic(options.csv, report::SuiteCsv({})));
  }
  search::Machine machine = TRY(search::Machine::Open(options.device));
  SayOrigin(machine, options.common, false);
  std::optional<search::SuiteCompiler> ahead;
  if (machine.loop_compiler() != nullptr) {
    ahead.emplace(machine.compiler(), machine.info().architecture, entries);
  }
  const search::CallTime time(options.pace);
  std::vector<report::SuiteRow> rows;
  bool complete = true;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (time.IsOver()) {
      complete = false;
      break;
    }
    auto judged = JudgeEntry(machine, entries[i], root, options);
    if (!judged.ok() && StopsAll(judged.error())) return judged.error();
    if (!judged.ok()) judged = std::vector{NotJudged(entries[i], root, judged.error())};
    for (report::SuiteRow& row : *judged) {
      if (!options.common.quiet) SayProgress(row, i + 1, entries.size());
      rows.push_back(std::move(row));
    }
    // Written as it goes: what was judged is not lost.
    if (!options.csv.empty()) TRY(WriteFileAtomic(options.csv, report::SuiteCsv(rows)));
  }
  SayOrigin(machine, options.common, true);
  const report::SuiteSummary summary = report::SummariseSuite(rows, kConfidence);
  std::fputs((options.common.json ? report::SuiteJson(rows, summary) + "\n"
                                  : report::RenderSuite(rows, summary))
                 .c_str(),
             stdout);
  if (!complete) {
    std::fprintf(stderr, "stopped after %zu of %zu; the same command goes on\n", rows.size(),
                 entries.size());
  }
  const bool failed = summary.valid < summary.total && options.fail_on != "never";
  return complete && !failed ? 0 : 1;
}

}  // namespace warpsmith::cli
