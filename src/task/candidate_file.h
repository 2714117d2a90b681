// Candidates as users write them: candidate.toml, an exported candidate.json, or a bare .cu file.
// docs/task-format.md.
#ifndef WARPSMITH_TASK_CANDIDATE_FILE_H_
#define WARPSMITH_TASK_CANDIDATE_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/space.h"
#include "core/task.h"

namespace warpsmith::task {

// A candidate.toml (or the candidate.json of an export): a candidate, or a family of them when it
// has a [tunables] table. A tunable's value is defined as a macro in the sources (-DNAME=value) and
// may be used by name in the plan's expressions and in `legal_when`. A .cu file alone is a
// candidate of form `program` with this one source.
class CandidateFile {
 public:
  // `path`: a candidate.toml, an exported candidate.json, the folder that holds one of them, or a
  // .cu file.
  static Result<CandidateFile> Load(const std::filesystem::path& path);

  // One point for every legal combination of tunables (a single empty one without any).
  const Space& space() const { return space_; }
  // Of a point of space().
  Result<Candidate> Make(const Point& point) const;

 private:
  CandidateFile() = default;
  static Result<CandidateFile> LoadExported(const std::filesystem::path& file);
  static Result<CandidateFile> LoadBareSource(const std::filesystem::path& file);

  std::string source_;         // for error texts
  std::string template_json_;  // the candidate with tunables still by name
  bool complete_ = false;      // the template is the candidate
  std::vector<Parameter> tunables_;
  Space space_;
};

// A candidate and what it is called: "path", or "path: point" where the file holds a family.
using NamedCandidate = std::pair<std::string, Candidate>;

// Every candidate of these files or folders, in their order.
Result<std::vector<NamedCandidate>> LoadCandidates(const std::vector<std::string>& paths);

// kBadInput, in one line that says what to do, when the task does not take candidates of this form.
// `name`: the candidate's, for the error.
Status CheckForm(const std::string& name, const Candidate& candidate, const Task& task);

// --- The kernel that an agent starts from.

// `path` as --candidate names it; empty: none, the agent writes the first one. kUsage where it
// holds more than one candidate; refused, too, where the task does not take its form.
Result<std::optional<Candidate>> StartingKernel(const std::string& path, const Task& task);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_CANDIDATE_FILE_H_
