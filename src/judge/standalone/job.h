// The folder of a stand-alone run: what one candidate needs to be launched with nobody watching but
// a tool (a sanitizer, a profiler).
//
//   DIR/job.json {"version":1,"task":...,"workload":...,"candidate":...,"architecture":...}
//   DIR/image             cubin (form `kernel`) or shared library (form `program`)
//   DIR/inputs/<tensor>   raw bytes, optional: contents are generated where there are none
//   DIR/finished          written last by the run: its absence means that the run did not end well
#ifndef WARPSMITH_JUDGE_STANDALONE_JOB_H_
#define WARPSMITH_JUDGE_STANDALONE_JOB_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"

namespace warpsmith::standalone {

inline constexpr int kStandaloneJobVersion = 1;

struct StandaloneJob {
  Task task;
  Workload workload;
  Candidate candidate;
  std::string architecture;  // that the image was built for
};

// Makes `dir`. Of the task only what a run needs goes in: no rivals, no reference, no other
// workloads. kBadInput for a tensor whose name cannot be a file's.
Status WriteStandaloneJob(const std::filesystem::path& dir, const StandaloneJob& job,
                          std::string_view image);

// kBadInput for what is no job, kVersion for one that another warpsmith wrote.
Result<StandaloneJob> ReadStandaloneJob(const std::filesystem::path& dir);

std::filesystem::path ImagePath(const std::filesystem::path& dir);
std::filesystem::path InputPath(const std::filesystem::path& dir, const std::string& tensor);
std::filesystem::path FinishedPath(const std::filesystem::path& dir);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_JOB_H_
