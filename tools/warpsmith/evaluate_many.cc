#include "evaluate_many.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "base/caught.h"
#include "base/file.h"
#include "call_time.h"
#include "core/program_shim.h"
#include "judging.h"
#include "report/suite.h"
#include "report/text_table.h"
#include "reproducing.h"
#include "search/slice.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kConfidence = 0.95;

struct Entry {
  fs::path task, candidate;
};

bool IsNoCandidate(const fs::path& folder) {
  return folder.filename() == "current" || folder.filename() == "reference";
}

// In the order of their paths.
Result<std::vector<Entry>> FindEntries(const fs::path& root) {
  std::set<fs::path> tasks, candidates;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(root, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().filename() == "task.toml") tasks.insert(at->path().parent_path());
    if (at->path().filename() != "candidate.toml") continue;
    if (!IsNoCandidate(at->path().parent_path())) candidates.insert(at->path().parent_path());
  }
  if (failed) {
    return Error{ErrorCode::kNoInput, root.string() + ": " + failed.message(),
                 "give --many a folder"};
  }
  std::vector<Entry> entries;
  for (const fs::path& candidate : candidates) {
    fs::path above = candidate;
    while (above != root && !tasks.contains(above)) above = above.parent_path();
    if (tasks.contains(above)) entries.push_back({above, candidate});
  }
  if (entries.empty()) {
    return Error{ErrorCode::kBadInput,
                 root.string() +
                     ": no task.toml with a candidate.toml below it (those of folders "
                     "named 'current' or 'reference' are none)",
                 "see docs/tasks.md, or warpsmith task import"};
  }
  return entries;
}

// Compiles what comes next while the device is at work, so that the judge finds it in the cache.
class CompileAhead {
 public:
  CompileAhead(Compiler& compiler, std::string architecture, std::vector<Entry> entries)
      : thread_([this, &compiler, architecture = std::move(architecture),
                 entries = std::move(entries)] {
          // What fails here fails again where it is told.
          (void)Caught([&] { return Work(compiler, architecture, entries); });
        }) {}
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  ~CompileAhead() {
    stop_ = true;
    thread_.join();
  }

 private:
  Status Work(Compiler& compiler, const std::string& architecture,
              const std::vector<Entry>& entries) const {
    for (const Entry& entry : entries) {
      if (stop_) break;
      const auto loaded = task::LoadTask(entry.task.string());
      const auto candidates = task::LoadCandidates({entry.candidate.string()});
      if (!loaded.ok() || !candidates.ok()) continue;
      for (const auto& [name, candidate] : *candidates) {
        const auto built = WithProgramShim(candidate, loaded->task, loaded->workload);
        if (built.ok()) (void)compiler.Compile(*built, architecture);
      }
    }
    return {};
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

std::string Relative(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return relative.empty() || relative == "." ? path.filename().string() : relative.string();
}

// The harness's trouble with one entry: told in the table.
report::SuiteRow NotJudged(const Entry& entry, const fs::path& root, const Error& error) {
  return {Relative(entry.task, root), "", Relative(entry.candidate, entry.task),
          Verdict{Inconclusive{error.Line()}, {}}};
}

bool IsDegenerate(const Verdict& verdict) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  return passed != nullptr && !passed->correctness.degenerate.empty();
}

Result<std::vector<report::SuiteRow>> JudgeEntry(Machine& machine, const Entry& entry,
                                                 const fs::path& root,
                                                 const EvaluateOptions& options) {
  const task::LoadedTask loaded = TRY(LoadJudgeable(entry.task.string(), ""));
  const auto candidates = TRY(task::LoadCandidates({entry.candidate.string()}));
  std::vector<report::SuiteRow> rows;
  for (JudgedCandidate& one :
       TRY(JudgeCandidates(machine, loaded, ProtocolOf(options), candidates))) {
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
  const std::vector<Entry> entries = search::TakeSlice(slice, TRY(FindEntries(root)));
  // Now, not after the first verdict, is when to hear that it cannot be written.
  if (!options.csv.empty() && !fs::exists(options.csv)) {
    TRY(WriteFileAtomic(options.csv, report::SuiteCsv({})));
  }
  Machine machine = TRY(Machine::Open(options.device));
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  std::optional<CompileAhead> ahead;
  if (machine.loop_compiler() != nullptr) {
    ahead.emplace(machine.compiler(), machine.info().architecture, entries);
  }
  const CallTime time(options.pace);
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
