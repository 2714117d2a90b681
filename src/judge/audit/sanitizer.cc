#include "judge/audit/sanitizer.h"

#include <charconv>

#include "base/file.h"
#include "base/foreign_file.h"
#include "cuda/library.h"
#include "judge/audit/process_end.h"
#include "judge/standalone/confined.h"
#include "judge/standalone/job.h"
#include "sandbox/sandbox.h"

namespace warpsmith::audit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLogBytes = 1 << 20;
constexpr int64_t kOutputBytes = 64 << 10;
constexpr int kErrorStatus = 86;
constexpr char kInstall[] =
    "install a CUDA 13 toolkit, or pip install nvidia-cuda-sanitizer-api and put its bin/ in PATH";

// API errors are no concern here: our own loader asks the driver until it says no. A copy of bytes
// that were never written harms nobody, so of initcheck only kernels' reads count. The tool has a
// log file of its own, because a candidate can write to stdout too.
std::vector<std::string> CommandLine(const Sanitizer& sanitizer, const SanitizerRequest& request,
                                     const fs::path& log) {
  std::vector<std::string> argv = {sanitizer.program.string(),
                                   "--tool",
                                   std::string(request.check),
                                   "--log-file",
                                   log.string(),
                                   "--error-exitcode",
                                   std::to_string(kErrorStatus),
                                   "--print-limit",
                                   "20",
                                   "--demangle",
                                   "simple",
                                   "--show-backtrace",
                                   "no",
                                   "--target-processes",
                                   "application-only",
                                   "--launch-timeout",
                                   "60",
                                   "--kill"};
  if (request.check == kMemcheck) argv.insert(argv.end(), {"--report-api-errors", "no"});
  if (request.check == kInitcheck) argv.insert(argv.end(), {"--check-api-memory-access", "no"});
  argv.insert(argv.end(), request.standalone_argv.begin(), request.standalone_argv.end());
  return argv;
}

// initcheck before 2025.4 does not see what cp.async.bulk writes, and calls it uninitialised.
bool MissesBulkWrites(const Sanitizer& sanitizer) {
  int year = 0, release = 0;
  const std::string& version = sanitizer.version;
  const char* end = version.data() + version.size();
  const auto parsed = std::from_chars(version.data(), end, year);
  if (parsed.ptr != end && *parsed.ptr == '.') std::from_chars(parsed.ptr + 1, end, release);
  return year < 2025 || (year == 2025 && release < 4);
}

AuditFinding JudgeErrors(const Sanitizer& sanitizer, const SanitizerRequest& request,
                         const SanitizerRun& run) {
  const std::string words = Describe(*run.text.first);
  if (request.check == kInitcheck && request.copies_in_bulk && MissesBulkWrites(sanitizer)) {
    return Absent(request.check, "compute-sanitizer " + sanitizer.version +
                                     " does not see what cp.async.bulk writes, and says: " + words);
  }
  const int64_t errors = request.check == kRacecheck ? run.text.races->errors : *run.text.errors;
  return Convicted(request.check,
                   words + (errors > 1 ? " (and " + std::to_string(errors - 1) + " more)" : ""));
}

std::string CleanWords(const Sanitizer& sanitizer, const SanitizerRequest& request,
                       const SanitizerText& text) {
  std::string words = "compute-sanitizer " + sanitizer.version + ": no error";
  if (request.check == kRacecheck && text.races->warnings > 0) {
    words += ", " + std::to_string(text.races->warnings) + " warnings";
  }
  return words;
}

}  // namespace

Result<Sanitizer> FindSanitizer(const fs::path& program) {
  const auto found = program.empty() ? cuda::FindTool("compute-sanitizer") : Result(program);
  if (!found.ok()) return Error{ErrorCode::kUnavailable, found.error().message, kInstall};
  ProcessLimits limits;
  limits.wall = std::chrono::seconds(20);
  const auto asked = RunProcess({found->string(), "--version"}, limits);
  if (!asked.ok()) return Error{ErrorCode::kUnavailable, asked.error().message, kInstall};
  const std::string version = ReadSanitizerVersion(asked->output);
  if (version.empty() || asked->timed_out) {
    return Error{ErrorCode::kUnavailable,
                 found->string() + " --version: " + HowItEnded(*asked) + ": no version", kInstall};
  }
  return Sanitizer{*found, version};
}

AuditFinding JudgeSanitizerRun(const Sanitizer& sanitizer, const SanitizerRequest& request,
                               const SanitizerRun& run) {
  const SanitizerText& text = run.text;
  const bool races = request.check == kRacecheck;
  const bool summed = races ? text.races.has_value() : text.errors.has_value();
  const int64_t errors = !summed ? 0 : races ? text.races->errors : *text.errors;
  const auto absent = [&](const std::string& why) {
    return Absent(request.check, "compute-sanitizer " + sanitizer.version + ": " + why);
  };
  if (text.first && errors > 0) return JudgeErrors(sanitizer, request, run);
  if (run.process.timed_out) {
    return absent("no end within " + std::to_string(request.wall.count()) + " ms");
  }
  if (!text.inability.empty()) return absent(text.inability);
  if (!text.started) return absent("it did not start: " + HowItEnded(run.process));
  if (!run.finished || text.target_failed) {
    const std::string api = text.api_error.empty() ? "" : ": " + text.api_error;
    return absent("the candidate did not run to its end: " + HowItEnded(run.process) + api);
  }
  if (!summed) return absent("its report has no summary");
  if (errors > 0) return absent("it counts errors but describes none");
  return Clean(request.check, CleanWords(sanitizer, request, text));
}

Result<AuditFinding> RunSanitizer(const Sanitizer& sanitizer, const SanitizerRequest& request) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-sanitizer"));
  const fs::path log = folder.path() / "log";
  std::error_code ignored;
  fs::remove(standalone::FinishedPath(request.dir), ignored);
  ProcessLimits limits;
  limits.wall = request.wall;
  limits.output_bytes = kOutputBytes;
  SanitizerRun run;
  std::vector<std::string> command = CommandLine(sanitizer, request, log);
  if (!request.confined_by.empty()) {
    TRY(sandbox::GiveToUnprivileged(folder.path()));
    command = standalone::ConfinedCommand(request.confined_by, request.dir, folder.path(), command);
  }
  auto process = RunProcess(command, limits, {"TMPDIR=" + folder.path().string()});
  if (!process.ok()) {
    if (process.error().code == ErrorCode::kInterrupted) return process.error();
    return Absent(request.check, process.error().Line());
  }
  run.process = std::move(process).value();
  const auto text = ReadForeignFile(log, kLogBytes);
  if (!text.ok() && text.error().code == ErrorCode::kBadInput) {
    return Convicted(request.check, "it put something that is no file in the place of the log");
  }
  run.text = ReadSanitizerText(text.ok() ? *text : "");
  run.finished = fs::exists(standalone::FinishedPath(request.dir));
  return JudgeSanitizerRun(sanitizer, request, run);
}

}  // namespace warpsmith::audit
