#include "judge/profile/ncu_profiler.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/utf8.h"
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

namespace {

class NcuProfiler : public Profiler {
 public:
  explicit NcuProfiler(NcuOptions options) : options_(std::move(options)) {}

  Result<Profile> Take(const ProfileJob& job) override {
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

 private:
  Result<std::string> Version() {
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

  Result<NcuReport> Run(const ProfileJob& job, const std::vector<std::string>& metrics) {
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

  const NcuOptions options_;
  std::string version_;  // once it is known
};

}  // namespace

std::unique_ptr<Profiler> MakeNcuProfiler(NcuOptions options) {
  return std::make_unique<NcuProfiler>(std::move(options));
}

namespace {

constexpr int kVersion = 1;

struct Memory {
  std::string driver, boot_id;
  int64_t user = 0;
  std::set<std::string> told;
};

Result<Memory> ReadMemory(const std::filesystem::path& file) {
  const nlohmann::json json = TRY(ParseJson(file.string(), TRY(ReadFile(file))));
  const JsonReader root(file.string(), json);
  TRY(root.At("version").IntIn(kVersion, kVersion));
  Memory memory;
  memory.driver = TRY(root.At("driver").String());
  memory.boot_id = TRY(root.At("boot_id").String());
  memory.user = TRY(root.At("user").Int());
  for (const JsonReader& item : TRY(root.At("told").Items())) {
    memory.told.insert(TRY(item.String()));
  }
  return memory;
}

// What is remembered of this boot, this driver and this user.
std::set<std::string> ReadNotices(const BestOptions& options) {
  const Result<Memory> memory = ReadMemory(options.notices);
  const bool valid = memory.ok() && memory->driver == options.driver &&
                     memory->boot_id == options.boot_id &&
                     memory->user == static_cast<int64_t>(geteuid());
  return valid ? memory->told : std::set<std::string>();
}

Status Remember(const BestOptions& options, std::string_view what) {
  std::set<std::string> told = ReadNotices(options);
  told.insert(ValidUtf8(what));
  const nlohmann::json json = {{"version", kVersion},
                               {"driver", ValidUtf8(options.driver)},
                               {"boot_id", ValidUtf8(options.boot_id)},
                               {"user", static_cast<int64_t>(geteuid())},
                               {"told", told}};
  TRY(CreateDirectories(options.notices.parent_path()));
  return WriteFileAtomic(options.notices, JsonText(json, 1) + "\n");
}

constexpr std::string_view kNoRights = "counters-denied";
constexpr std::string_view kNoRightsConfined = "counters-denied-in-the-sandbox";
constexpr std::string_view kNoTool = "no-ncu";

class BestProfiler : public Profiler {
 public:
  BestProfiler(std::unique_ptr<Profiler> counters, BestOptions options)
      : counters_(std::move(counters)), options_(std::move(options)) {}

  Result<Profile> Take(const ProfileJob& job) override {
    const bool confined = options_.programs_confined && job.candidate.form == Form::kProgram;
    const std::string_view denied = confined ? kNoRightsConfined : kNoRights;
    if (Knows(denied)) return WithoutCounters(job);
    Result<Profile> profile = counters_->Take(job);
    if (profile.ok()) return profile;
    const ErrorCode code = profile.error().code;
    if (code != ErrorCode::kPermission && code != ErrorCode::kUnavailable) return profile;
    SayOnce(code == ErrorCode::kPermission ? denied : kNoTool, profile.error());
    return WithoutCounters(job);
  }

 private:
  bool Knows(std::string_view what) const {
    return ReadNotices(options_).contains(std::string(what));
  }

  Result<Profile> WithoutCounters(const ProfileJob& job) {
    std::vector<KernelTime> times;
    if (options_.times) {
      if (auto taken = options_.times(job); taken.ok()) times = std::move(*taken);
    }
    return StaticProfile(job, options_.sm_count, times);
  }

  // Where it cannot be remembered it is said again.
  void SayOnce(std::string_view reason, const Error& error) {
    if (Knows(reason)) return;
    if (options_.say) options_.say("profiles without counters: " + error.Line());
    (void)Remember(options_, reason);
  }

  std::unique_ptr<Profiler> counters_;
  const BestOptions options_;
};

}  // namespace

BestOptions BestOptionsHere(const std::string& driver) {
  const auto boot_id = ReadFile("/proc/sys/kernel/random/boot_id");
  BestOptions options;
  options.notices = StateHome() / "profiler.json";
  options.driver = driver;
  options.boot_id = boot_id.ok() ? *boot_id : "";
  return options;
}

std::unique_ptr<Profiler> MakeBestProfiler(std::unique_ptr<Profiler> counters,
                                           BestOptions options) {
  return std::make_unique<BestProfiler>(std::move(counters), std::move(options));
}

}  // namespace warpsmith::profile
