// Tasks and candidates as users write them: task.toml, candidate.toml.
// docs/task-and-plan-format.md.
#ifndef WARPSMITH_TASK_TASK_FILE_H_
#define WARPSMITH_TASK_TASK_FILE_H_

#include <filesystem>
#include <string>

#include "core/candidate.h"
#include "core/space.h"
#include "core/task.h"
#include "util/result.h"

namespace warpsmith::task {

struct LoadedTask {
  Task task;
  Workload workload;  // the one that is judged
};

// A path to a task.toml ("dir/task.toml" or "dir"), or a built-in one: "hgemm:MxNxK:TN".
// `workload` picks one of several by name; empty takes the first that is not hidden.
Result<LoadedTask> LoadTask(const std::string& reference, const std::string& workload = "");

// A candidate.toml (or the candidate.json of an export): a candidate, or a family of them when it
// has a [tunables] table. A tunable's value is defined as a macro in the sources (-DNAME=value) and
// may be used by name in the plan's expressions and in `legal_when`.
class CandidateFile {
 public:
  // `path`: a candidate.toml, an exported candidate.json, or the folder that holds one of them.
  static Result<CandidateFile> Load(const std::filesystem::path& path);

  // One point for every legal combination of tunables (a single empty one without any).
  const Space& space() const { return space_; }
  Result<Candidate> Make(const Point& point) const;

 private:
  CandidateFile() = default;
  static Result<CandidateFile> LoadExported(const std::filesystem::path& file);

  std::string source_;         // for error texts
  std::string template_json_;  // the candidate with tunables still by name
  bool exported_ = false;      // the template is the candidate
  std::vector<Parameter> tunables_;
  Space space_;
};

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_TASK_FILE_H_
