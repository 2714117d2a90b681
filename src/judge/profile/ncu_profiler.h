// The profilers: Nsight Compute in a process of its own, and what can be said where it is not
// allowed.
#ifndef WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_
#define WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/profiler.h"
#include "judge/profile/ncu_report.h"
#include "judge/profile/static_profile.h"

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

// Takes profiles with ncu. Clocks are left as they are, caches are flushed before each replay. Not
// thread-safe: one run of ncu at a time. Errors: kUnavailable without ncu; kPermission where counters
// are not allowed to this user; kNothingMeasured when the candidate failed or launched nothing;
// kTimeout.
std::unique_ptr<Profiler> MakeNcuProfiler(NcuOptions options);

// The whole command line, for reports and tests.
std::vector<std::string> NcuCommand(const NcuOptions& options,
                                    const std::vector<std::string>& metrics,
                                    const std::filesystem::path& log,
                                    const std::vector<std::string>& run);

// --- Counters where they can be had, and what is known without them where not: a profile never
// fails a run for lack of rights or of a tool.

struct BestOptions {
  int sm_count = 0;  // 0: unknown
  // Programs are profiled in a sandbox: that counters are denied there says nothing of kernels.
  bool programs_confined = false;
  // CUPTI's times of one execution, where the caller can take them; an error means that it cannot.
  std::function<Result<std::vector<KernelTime>>(const ProfileJob& job)> times;
  std::function<void(const std::string& line)> say;  // to the user, once for each reason and boot
  // The file that remembers what a user was already told, until the machine boots again or gets
  // another driver, since either may change the answer. It is made when something is remembered; an
  // unreadable one counts as empty.
  std::filesystem::path notices;
  std::string driver, boot_id;
};
// With StateHome()/profiler.json, for this boot.
BestOptions BestOptionsHere(const std::string& driver);

// Without rights or tool: source "cupti" or "static". Counters that were refused are not asked for
// again before the next boot. Other errors of the counters' profiler are passed on.
std::unique_ptr<Profiler> MakeBestProfiler(std::unique_ptr<Profiler> counters, BestOptions options);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_NCU_PROFILER_H_
