#include "search/evaluation/suite.h"

#include <set>
#include <system_error>
#include <utility>

#include "base/caught.h"
#include "core/program_shim.h"
#include "task/candidate_file.h"
#include "task/task_file.h"

namespace warpsmith::search {
namespace {

namespace fs = std::filesystem;

bool IsNoCandidate(const fs::path& folder) {
  return folder.filename() == "current" || folder.filename() == "reference";
}

}  // namespace

Result<std::vector<SuiteEntry>> FindEntries(const fs::path& root) {
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
  std::vector<SuiteEntry> entries;
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

SuiteCompiler::SuiteCompiler(Compiler& compiler, std::string architecture,
                             std::vector<SuiteEntry> entries)
    : thread_(
          [this, &compiler, architecture = std::move(architecture), entries = std::move(entries)] {
            // What fails here fails again where it is told.
            (void)Caught([&] { return Work(compiler, architecture, entries); });
          }) {}

SuiteCompiler::~SuiteCompiler() {
  stop_ = true;
  thread_.join();
}

Status SuiteCompiler::Work(Compiler& compiler, const std::string& architecture,
                           const std::vector<SuiteEntry>& entries) const {
  for (const SuiteEntry& entry : entries) {
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

}  // namespace warpsmith::search
