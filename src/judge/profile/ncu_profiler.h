// Profiles taken by Nsight Compute, in a process of its own.
#ifndef WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_
#define WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/profiler.h"
#include "judge/profile/ncu_report.h"

namespace warpsmith::profile {

// Writes into `folder` (which does not exist yet) what a stand-alone run of the candidate needs,
// and gives its command. The command must open the driver's profiler window (cuProfilerStart)
// around the candidate: what runs outside of it is not measured.
using PrepareRun = std::function<Result<std::vector<std::string>>(
    const ProfileJob& job, const std::filesystem::path& folder)>;

// The same command shut in with all that it starts, for candidates whose own code runs in the
// profiled process. `folder` and what is in it are its own to write.
using ConfineRun = std::function<Result<std::vector<std::string>>(
    const std::filesystem::path& folder, std::vector<std::string> command)>;

struct NcuOptions {
  std::string ncu;  // the program; empty: kUnavailable
  PrepareRun prepare;
  ConfineRun confine;                        // of programs; none: they run loose
  std::chrono::milliseconds wall{180'000};   // one run of ncu
  int64_t output_bytes = int64_t{1} << 20;   // of ncu and the candidate together
  int64_t report_bytes = int64_t{64} << 20;  // a larger report is refused
  int64_t file_bytes = int64_t{2} << 30;     // of any file that either of them writes
  int max_launches = 256;                    // kernels measured, from the first
};

// Clocks are left as they are, caches are flushed before each replay. Not thread-safe: one run of
// ncu at a time.
class NcuProfiler : public Profiler {
 public:
  explicit NcuProfiler(NcuOptions options) : options_(std::move(options)) {}

  // kUnavailable without ncu; kPermission where counters are not allowed to this user;
  // kNothingMeasured when the candidate failed or launched nothing; kTimeout.
  Result<Profile> Take(const ProfileJob& job) override;

 private:
  Result<NcuReport> Run(const ProfileJob& job, const std::vector<std::string>& metrics);
  Result<std::string> Version();

  const NcuOptions options_;
  std::string version_;  // once it is known
};

// The whole command line, for reports and tests.
std::vector<std::string> NcuCommand(const NcuOptions& options,
                                    const std::vector<std::string>& metrics,
                                    const std::filesystem::path& log,
                                    const std::vector<std::string>& run);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_
