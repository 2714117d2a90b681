#include "judge/profile/ncu_profiler.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/display_text.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

namespace fs = std::filesystem;

// What ncu wrote to its log, or an empty text where it never came so far. A program may have put
// something else there.
Result<std::string> ReadLog(const fs::path& log, int64_t most_bytes) {
  const auto most = static_cast<size_t>(most_bytes);
  auto text = ReadForeignFile(log, most + 1);
  if (!text.ok() && text.error().code == ErrorCode::kNoInput) return std::string();
  if (text.ok() && text->size() > most) {
    return Error{ErrorCode::kBadInput,
                 "ncu's report has more than " + std::to_string(most_bytes) + " bytes",
                 "profile fewer launches"};
  }
  return text;
}

Error Failed(const ProcessOutcome& outcome, const NcuReport& messages) {
  const std::string how = outcome.signal != 0
                              ? "was ended by signal " + std::to_string(outcome.signal)
                              : "ended with status " + std::to_string(outcome.exit_status);
  const std::string why = messages.errors.empty() ? ForTerminal(LastLine(outcome.output), 512)
                                                  : messages.errors.front();
  return {ErrorCode::kNothingMeasured, "ncu " + how + (why.empty() ? "" : ": " + why),
          "see that the candidate runs to its end without a profiler"};
}

void Append(const NcuReport& from, NcuReport* to) {
  to->warnings.insert(to->warnings.end(), from.warnings.begin(), from.warnings.end());
  to->errors.insert(to->errors.end(), from.errors.begin(), from.errors.end());
}

Error DeniedError() {
  return {ErrorCode::kPermission, "this user may not read the GPU's performance counters",
          "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN"};
}

}  // namespace

// Why these options: clocks stay as the judge measures with them, since locking them to base would
// profile another device (and needs rights); every replay starts with flushed caches, so that the
// first pass and the last count the same; numbers come in nanoseconds and bytes; only what runs in
// the driver's profiler window is the candidate's; and a program may launch without end, while each
// kernel is replayed some 15 times.
std::vector<std::string> NcuCommand(const NcuOptions& options,
                                    const std::vector<std::string>& metrics, const fs::path& log,
                                    const std::vector<std::string>& run) {
  std::vector<std::string> argv = {options.ncu,
                                   "--csv",
                                   "--page",
                                   "raw",
                                   "--print-units",
                                   "base",
                                   "--metrics",
                                   Joined(metrics, ","),
                                   "--clock-control",
                                   "none",
                                   "--cache-control",
                                   "all",
                                   "--target-processes",
                                   "all",
                                   "--profile-from-start",
                                   "off",
                                   "--launch-count",
                                   std::to_string(options.max_launches),
                                   "--log-file",
                                   log.string(),
                                   "--"};
  argv.insert(argv.end(), run.begin(), run.end());
  return argv;
}

Result<std::string> NcuProfiler::Version() {
  if (!version_.empty()) return version_;
  ProcessLimits limits;
  limits.wall = std::chrono::seconds(20);
  const ProcessOutcome outcome = TRY(RunProcess({options_.ncu, "--version"}, limits));
  const auto version = NcuVersion(outcome.output);
  if (!version || outcome.exit_status != 0 || outcome.signal != 0 || outcome.timed_out) {
    return Error{ErrorCode::kUnavailable,
                 options_.ncu + " --version did not name a version of Nsight Compute",
                 "name another program with --ncu"};
  }
  return version_ = *version;
}

Result<NcuReport> NcuProfiler::Run(const ProfileJob& job, const std::vector<std::string>& metrics) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("profile"));
  const std::vector<std::string> run = TRY(options_.prepare(job, folder.path() / "job"));
  const fs::path log = folder.path() / "ncu.csv";
  ProcessLimits limits;
  limits.wall = options_.wall;
  limits.output_bytes = options_.output_bytes;
  limits.file_bytes = options_.file_bytes;
  // A folder of its own for its lock and its settings; numbers as in C, whatever the user's locale.
  const std::string here = folder.path().string();
  std::vector<std::string> command = NcuCommand(options_, metrics, log, run);
  if (options_.confine && job.candidate.form == Form::kProgram) {
    command = TRY(options_.confine(folder.path(), std::move(command)));
  }
  const ProcessOutcome outcome =
      TRY(RunProcess(command, limits, {"TMPDIR=" + here, "HOME=" + here, "LC_ALL=C"}));
  if (outcome.timed_out) {
    return Error{
        ErrorCode::kTimeout,
        "ncu was still replaying kernels after " + std::to_string(options_.wall.count()) + " ms",
        "profile a smaller workload"};
  }
  const std::string text = TRY(ReadLog(log, options_.report_bytes));
  NcuReport messages = ReadNcuMessages(text);
  Append(ReadNcuMessages(outcome.output), &messages);
  if (DeniesCounters(messages)) return DeniedError();
  // Not a failure yet: the caller asks again without them.
  if (!UnknownMetrics(messages).empty()) return messages;
  if (outcome.exit_status != 0 || outcome.signal != 0) return Failed(outcome, messages);
  return ReadNcuReport("ncu", text);
}

Result<Profile> NcuProfiler::Take(const ProfileJob& job) {
  if (options_.ncu.empty()) {
    return Error{ErrorCode::kUnavailable, "no Nsight Compute (ncu) here",
                 "install it with the CUDA toolkit, or name it with --ncu"};
  }
  Profile profile;
  profile.source = TRY(Version());
  std::vector<std::string> metrics = CounterSet(job.artifact.architecture);
  NcuReport report = TRY(Run(job, metrics));
  if (const auto unknown = UnknownMetrics(report); report.kernels.empty() && !unknown.empty()) {
    std::erase_if(metrics, [&](const std::string& name) {
      return std::find(unknown.begin(), unknown.end(), name) != unknown.end();
    });
    report = TRY(Run(job, metrics));
  }
  if (report.kernels.empty()) {
    return Error{ErrorCode::kNothingMeasured,
                 "ncu refuses the metrics it is asked for: " +
                     (report.errors.empty() ? "" : report.errors.front()),
                 "name another version of it with --ncu"};
  }
  profile.kernels = std::move(report.kernels);
  return profile;
}

}  // namespace warpsmith::profile
