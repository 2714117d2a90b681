#include "judge/audit/sanitizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/text.h"
#include "cuda/library.h"
#include "judge/audit/audit.h"
#include "judge/standalone/run_folder.h"
#include "judge/standalone/standalone.h"
#include "sandbox/sandbox.h"

namespace warpsmith::audit {
namespace {

constexpr size_t kMaxLineBytes = 400;  // a kernel's full name can be many times that

// The tool's words for "I did not see what you wanted me to see".
constexpr std::array<std::string_view, 18> kInabilities = {
    "will be disabled",
    "not supported",
    "unsupported",
    "No attachable process",
    "Could not connect",
    "Unable to ",
    "terminated before first instrumented",
    "doesn't exist or is not a valid executable",
    "Internal Sanitizer",
    "Internal error",
    "Insufficient",
    "insufficient",
    "Failed to",
    "failed to initialize",
    "features are disabled",
    "Error launching",
    "couldn't find exit code",
    "Maximum number of hazards",
};

// "========= words": how deep the words are indented behind the mark, and the words.
struct ToolLine {
  size_t indent = 0;
  std::string_view words;
};

std::optional<ToolLine> ToolLineOf(std::string_view line) {
  constexpr size_t kMarks = 8;
  const size_t marks = std::min(line.find_first_not_of('='), line.size());
  if (marks < kMarks) return std::nullopt;
  line.remove_prefix(marks);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  line = line.substr(indent, kMaxLineBytes);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return ToolLine{indent, line};
}

// The first number in `words`, digit groups joined; saturates.
std::optional<int64_t> NumberIn(std::string_view words) {
  const size_t begin = words.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  for (const char c : words.substr(begin)) {
    if (c == ',') continue;
    if (c < '0' || c > '9') break;
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, c - '0', &value)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return value;
}

// "12 hazards displayed (2 errors, 10 warnings)"
std::optional<RaceSummary> RacesIn(std::string_view words) {
  const size_t open = words.find('('), comma = words.find(", ", std::min(open, words.size()));
  if (open == std::string_view::npos || comma == std::string_view::npos) return std::nullopt;
  const auto hazards = NumberIn(words.substr(0, open));
  const auto errors = NumberIn(words.substr(open, comma - open));
  const auto warnings = NumberIn(words.substr(comma + 2));
  if (!hazards || !errors || !warnings) return std::nullopt;
  return RaceSummary{*hazards, *errors, *warnings};
}

class SanitizerReader {
 public:
  SanitizerText Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (const auto line = ToolLineOf(text.substr(0, end))) Read(*line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(result_);
  }

 private:
  void Read(const ToolLine& line) {
    if (line.words.empty()) return;
    if (line.indent > 1) return ReadDetail(line.words);
    in_first_ = false;
    ReadHead(line.words);
  }

  void ReadHead(std::string_view words) {
    if (words.starts_with("COMPUTE-SANITIZER")) {
      result_.started = true;
    } else if (words.starts_with("ERROR SUMMARY:")) {
      if (const auto errors = NumberIn(words)) {
        result_.errors = std::max(*errors, result_.errors.value_or(0));
      }
    } else if (words.starts_with("RACECHECK SUMMARY:")) {
      if (const auto races = RacesIn(words)) result_.races = races;
    } else if (words.starts_with("LEAK SUMMARY:")) {
      return;
    } else {
      ReadReport(words);
    }
  }

  void ReadReport(std::string_view words) {
    const bool warns = words.starts_with("Warning: ");
    if (words.starts_with("Target application returned an error") ||
        words.starts_with("Error: process didn't terminate successfully")) {
      result_.target_failed = true;
    } else if (words.starts_with("Program hit ")) {
      if (result_.api_error.empty()) result_.api_error = words;
    } else if (IsKernelsOwn(words)) {
      if (!warns) Begin(words);
    } else if (IsInability(words)) {
      if (result_.inability.empty()) result_.inability = words;
    } else if (!warns) {
      Begin(words);  // a kind of report that is newer than this reader
    }
  }

  static bool IsKernelsOwn(std::string_view words) {
    return words.starts_with("Invalid ") || words.starts_with("Uninitialized ") ||
           words.starts_with("Misaligned ") || Contains(words, "Race reported between") ||
           Contains(words, "hazard detected");
  }

  static bool IsInability(std::string_view words) {
    return words.starts_with("Error: ") ||
           std::any_of(kInabilities.begin(), kInabilities.end(),
                       [words](std::string_view part) { return Contains(words, part); });
  }

  void Begin(std::string_view kind) {
    if (kind.starts_with("Error: ")) kind.remove_prefix(7);
    if (result_.first) return;
    result_.first = SanitizerError{std::string(kind), "", "", ""};
    in_first_ = true;
  }

  void ReadDetail(std::string_view words) {
    if (!in_first_) return;
    SanitizerError& first = *result_.first;
    if (words.starts_with("at ") && first.kernel.empty()) {
      first.kernel = KernelIn(words.substr(3));
    } else if (words.starts_with("by thread ") && first.place.empty()) {
      first.place = words.substr(3);
    } else if ((words.starts_with("Address ") || words.starts_with("Access ")) &&
               first.access.empty()) {
      first.access = words;
    } else if (words.starts_with("and ") && first.place.empty() && first.access.empty()) {
      first.access = words;  // a race's other side
    }
  }

  // "scale(float *, int)+0x90 in a.cu:7", or the older "0x90 in scale(float *, int)".
  static std::string KernelIn(std::string_view words) {
    const size_t in = words.find(" in ");
    if (in == std::string_view::npos) return std::string(words);
    if (words.starts_with("0x")) return std::string(words.substr(in + 4));
    return std::string(words.substr(0, in));
  }

  SanitizerText result_;
  bool in_first_ = false;
};

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
  constexpr char kFixed[] =
      "--print-limit 20 --demangle simple --show-backtrace no --target-processes application-only "
      "--launch-timeout 60 --kill";
  std::vector<std::string> argv = {sanitizer.program.string(), "--tool", std::string(request.check),
                                   "--log-file", log.string()};
  argv.insert(argv.end(), {"--error-exitcode", std::to_string(kErrorStatus)});
  for (const std::string_view word : Split(kFixed, ' ')) argv.emplace_back(word);
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
  return Violated(request.check,
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

std::string Describe(const SanitizerError& error) {
  std::string text = error.kind;
  if (!error.kernel.empty()) text += " at " + error.kernel;
  if (!error.place.empty()) text += " by " + error.place;
  if (!error.access.empty()) text += ": " + error.access;
  return text;
}

SanitizerText ReadSanitizerText(std::string_view text) { return SanitizerReader().Run(text); }

std::string ReadSanitizerVersion(std::string_view text) {
  constexpr std::string_view kLabel = "Version ";
  const size_t at = text.find(kLabel);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + kLabel.size());
  return std::string(rest.substr(0, std::min<size_t>(rest.find_first_not_of("0123456789."), 32)));
}

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
    return Violated(request.check, "it put something that is no file in the place of the log");
  }
  run.text = ReadSanitizerText(text.ok() ? *text : "");
  run.finished = fs::exists(standalone::FinishedPath(request.dir));
  return JudgeSanitizerRun(sanitizer, request, run);
}

}  // namespace warpsmith::audit
