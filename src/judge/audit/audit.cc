#include "judge/audit/audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "compile/opcodes.h"
#include "judge/audit/embedded_binary.h"
#include "judge/audit/image_rules.h"
#include "judge/audit/sanitizer.h"
#include "judge/standalone/run_folder.h"
#include "judge/standalone/standalone.h"
#include "sandbox/sandbox.h"

namespace warpsmith::audit {
namespace {

std::string FirstLine(std::string_view text) {
  constexpr size_t kMost = 300;
  while (!text.empty() && (text.front() == '\n' || text.front() == ' ')) text.remove_prefix(1);
  return std::string(text.substr(0, std::min(text.find('\n'), kMost)));
}

}  // namespace

std::string HowItEnded(const ProcessOutcome& process) {
  if (process.timed_out) return "no end in time";
  std::string text = process.signal != 0 ? "signal " + std::to_string(process.signal)
                                         : "status " + std::to_string(process.exit_status);
  const std::string words = FirstLine(process.output);
  return words.empty() ? text : text + ", '" + words + "'";
}

namespace {

// Raised when what an audit means by a finding changes.
constexpr int kEntryVersion = 1;

Result<AuditFinding> ReadEntry(const std::filesystem::path& path, const std::string& key) {
  const std::string text = TRY(ReadFile(path));
  const nlohmann::json document = TRY(ParseJson(path.string(), text));
  const JsonReader json(path.string(), document);
  TRY(json.OnlyFields({"version", "key", "audit", "clean", "detail"}));
  if (TRY(json.At("version").Int()) != kEntryVersion || TRY(json.At("key").String()) != key) {
    return Error{ErrorCode::kVersion, path.string() + ": not this key's entry", ""};
  }
  const std::string audit = TRY(json.At("audit").String());
  const std::string detail = TRY(json.At("detail").String());
  return TRY(json.At("clean").Bool()) ? Clean(audit, detail) : Violated(audit, detail);
}

namespace fs = std::filesystem;

constexpr int kActivityRuns = 3;
constexpr size_t kActivityBytes = 256 << 20;  // a hundred times what three busy runs write

// Adds a finding. False when it rejects, and nothing more need be asked.
bool Add(AuditFinding finding, AuditOutcome* outcome) {
  if (auto* rejected = std::get_if<Rejected>(&finding)) {
    outcome->rejected = std::move(*rejected);
    return false;
  }
  outcome->reports.push_back(std::get<AuditReport>(std::move(finding)));
  return true;
}

// Disassembling takes a tenth of a second, which is why compilers seldom do it.
compile::OpcodeCounts OpcodesOf(const Artifact& artifact) {
  if (!artifact.opcodes.empty()) return artifact.opcodes;
  auto counted = compile::CountOpcodes(artifact.image);
  return counted.ok() ? *std::move(counted) : compile::OpcodeCounts{};
}

bool AddStatic(const AuditRequest& request, AuditOutcome* outcome) {
  const std::vector<std::string>& allow = request.task.allow;
  if (!Add(AuditSources(request.candidate.sources), outcome)) return false;
  if (request.candidate.form == Form::kProgram) {
    if (!Add(AuditImports(request.artifact.image, allow), outcome)) return false;
  }
  if (request.level == Level::kScreened && request.artifact.opcodes.empty()) return true;
  return Add(AuditOpcodes(OpcodesOf(request.artifact), request.task.precision), outcome);
}

std::vector<std::string> StandaloneCommand(const AuditRequest& request, const fs::path& dir) {
  std::vector<std::string> argv = request.standalone_argv;
  argv.push_back(dir.string());
  if (!request.device_uuid.empty()) argv.insert(argv.end(), {"--gpu", request.device_uuid});
  return argv;
}

bool Confines(const AuditRequest& request) {
  return request.sandboxed && request.candidate.form == Form::kProgram;
}

Status LinkInputs(const AuditRequest& request, const fs::path& dir) {
  if (request.inputs.empty()) return {};
  std::error_code code;
  fs::create_directory_symlink(fs::absolute(request.inputs), dir / "inputs", code);
  if (!code) return {};
  return Error{ErrorCode::kIo, "linking " + (dir / "inputs").string() + ": " + code.message(), ""};
}

// The folder of one run alone. A program may write there: what it leaves for the next run (another
// image, another link to the inputs, which its sandbox would then open) is gone with it.
class RunFolder {
 public:
  static Result<RunFolder> Make(const AuditRequest& request) {
    RunFolder made(TRY(TemporaryDirectory::Create("warpsmith-audit")));
    const standalone::StandaloneJob job{request.task, request.workload, request.candidate,
                                        request.artifact.architecture};
    TRY(standalone::WriteStandaloneJob(made.dir(), job, request.artifact.image));
    TRY(LinkInputs(request, made.dir()));
    if (Confines(request)) TRY(sandbox::GiveToUnprivileged(made.whole_.path()));
    return made;
  }
  fs::path dir() const { return whole_.path() / "run"; }

 private:
  explicit RunFolder(TemporaryDirectory whole) : whole_(std::move(whole)) {}
  TemporaryDirectory whole_;
};

Result<AuditFinding> RunCheck(const AuditRequest& request, const Sanitizer& sanitizer,
                              std::string_view check) {
  const RunFolder folder = TRY(RunFolder::Make(request));
  SanitizerRequest made;
  made.check = check;
  made.standalone_argv = StandaloneCommand(request, folder.dir());
  made.dir = folder.dir();
  made.wall = request.tool_wall;
  if (Confines(request)) made.confined_by = request.standalone_argv.front();
  made.copies_in_bulk = CopiesInBulk(request.candidate, request.artifact);
  return RunSanitizer(sanitizer, made);
}

// Once per image and tool: races show in a kernel, not in its data.
Result<AuditFinding> Racecheck(const AuditRequest& request, const Sanitizer& sanitizer) {
  const fs::path cache = request.cache.empty() ? CacheHome() / "audits" : request.cache;
  const std::string key =
      FindingKey({std::string(kRacecheck), sanitizer.version, request.artifact.image_sha256,
                  CandidateId(request.candidate)});
  if (auto known = FindFinding(cache, key)) return *std::move(known);
  AuditFinding finding = TRY(RunCheck(request, sanitizer, kRacecheck));
  static_cast<void>(StoreFinding(cache, key, finding));  // a full disk costs a run, not the verdict
  return finding;
}

Result<AuditFinding> SanitizeWith(const Result<Sanitizer>& sanitizer, const AuditRequest& request,
                                  std::string_view check) {
  if (!sanitizer.ok()) return Absent(check, sanitizer.error().Line());
  if (check == kRacecheck) return Racecheck(request, *sanitizer);
  return RunCheck(request, *sanitizer, check);
}

// The tool is asked for its version once.
Result<bool> AddSanitizers(const AuditRequest& request, AuditOutcome* outcome) {
  const Result<Sanitizer> sanitizer = FindSanitizer(request.sanitizer);
  for (const std::string_view check : {kMemcheck, kInitcheck, kRacecheck}) {
    if (!Add(TRY(SanitizeWith(sanitizer, request, check)), outcome)) return false;
  }
  return true;
}

Result<AuditFinding> Activity(const AuditRequest& request) {
  const RunFolder folder = TRY(RunFolder::Make(request));
  const fs::path dir = folder.dir(), file = dir / "activity.json";
  std::vector<std::string> argv = StandaloneCommand(request, dir);
  argv.insert(argv.end(), {"--runs", std::to_string(kActivityRuns), "--activity", file.string()});
  if (Confines(request)) {
    argv = standalone::ConfinedCommand(request.standalone_argv.front(), dir, dir, argv);
  }
  ProcessLimits limits;
  limits.wall = request.tool_wall;
  auto process = RunProcess(argv, limits);
  if (!process.ok()) {
    if (process.error().code == ErrorCode::kInterrupted) return process.error();
    return Absent(kActivity, process.error().Line());
  }
  const auto text = ReadForeignFile(file, kActivityBytes);
  if (!text.ok() && text.error().code == ErrorCode::kBadInput) {
    return Violated(kActivity, "it put something that is no file in the place of its report");
  }
  if (!text.ok()) {
    return Absent(kActivity, "the candidate did not run to its end: " + HowItEnded(*process));
  }
  const auto log = standalone::ActivityLogFromText("activity log", *text);
  if (!log.ok()) return Absent(kActivity, log.error().message);
  ActivitySubject subject{request.candidate.form, {}, request.task.allow};
  for (const KernelResources& kernel : request.artifact.kernels) {
    subject.own_kernels.push_back(kernel.name);
  }
  return JudgeActivity(*log, subject);
}

}  // namespace

std::string FindingKey(const std::vector<std::string>& parts) {
  std::string text = "warpsmith finding " + std::to_string(kEntryVersion);
  for (const std::string& part : parts) text += "\n" + Sha256Hex(part);
  return Sha256Hex(text);
}

std::optional<AuditFinding> FindFinding(const std::filesystem::path& root, const std::string& key) {
  auto finding = ReadEntry(EntryPath(root, key), key);
  if (!finding.ok()) return std::nullopt;
  return std::move(finding).value();
}

Status StoreFinding(const std::filesystem::path& root, const std::string& key,
                    const AuditFinding& finding) {
  const auto* report = std::get_if<AuditReport>(&finding);
  if (report != nullptr && report->status == AuditStatus::kAbsent) return {};
  const auto* rejected = std::get_if<Rejected>(&finding);
  const nlohmann::json document = {
      {"version", kEntryVersion},
      {"key", key},
      {"audit", report != nullptr ? report->tool : rejected->rule},
      {"clean", report != nullptr},
      {"detail", ValidUtf8(report != nullptr ? report->detail : rejected->detail)}};
  const std::filesystem::path path = EntryPath(root, key);
  TRY(CreateDirectories(path.parent_path()));
  return WriteFileAtomic(path, JsonText(document));
}

bool CopiesInBulk(const Candidate& candidate, const Artifact& artifact) {
  constexpr std::array<std::string_view, 4> kOpcodes = {"UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"};
  for (const auto& [opcode, count] : artifact.opcodes) {
    for (const std::string_view bulk : kOpcodes) {
      if (opcode.starts_with(bulk)) return true;
    }
  }
  if (!artifact.opcodes.empty()) return false;
  // Without a disassembler: what the sources say, comments and all.
  return std::any_of(candidate.sources.begin(), candidate.sources.end(), [](const auto& source) {
    return source.second.find("async.bulk") != std::string::npos ||
           source.second.find("_async_bulk") != std::string::npos;
  });
}

Result<AuditFinding> Sanitize(const AuditRequest& request, std::string_view check) {
  return SanitizeWith(FindSanitizer(request.sanitizer), request, check);
}

Result<AuditOutcome> AuditCandidate(const AuditRequest& request) {
  AuditOutcome outcome;
  if (!AddStatic(request, &outcome) || request.level == Level::kScreened) return outcome;
  if (!TRY(AddSanitizers(request, &outcome))) return outcome;
  Add(TRY(Activity(request)), &outcome);
  return outcome;
}

namespace {

using standalone::ActivityCall;
using standalone::ActivityKind;
using standalone::ActivityLog;
using standalone::ActivityRecord;

// Device and host stamps are brought onto one clock with an error of about a microsecond.
constexpr int64_t kSlackNs = 20'000;
constexpr double kNsPerUs = 1000;

bool IsOwn(const ActivityRecord& record, const ActivitySubject& subject) {
  const auto& own = subject.own_kernels;
  return std::find(own.begin(), own.end(), record.name) != own.end();
}

std::optional<std::string> ForeignKernel(const ActivityLog& log, const ActivitySubject& subject) {
  for (const ActivityRecord& record : log.records) {
    if (record.kind != ActivityKind::kKernel || IsOwn(record, subject)) continue;
    const std::string name = Demangled(record.name);
    const LibraryFamily* family = FamilyOfKernel(name);
    if (family != nullptr && !Allows(subject.allow, family->name)) {
      return "kernel '" + name + "' of " + std::string(family->name) +
             ", which the task does not allow";
    }
    if (family == nullptr && subject.allow.empty() && !subject.own_kernels.empty()) {
      return "kernel '" + name + "' is not one of its own";
    }
  }
  return std::nullopt;
}

// Whether some call contains the record's begin.
bool BeganInACall(const ActivityRecord& record, const std::vector<ActivityCall>& calls) {
  return std::any_of(calls.begin(), calls.end(), [&](const ActivityCall& call) {
    return record.start_ns >= call.begin_ns - kSlackNs &&
           record.start_ns <= call.idle_ns + kSlackNs;
  });
}

std::string NameOf(const ActivityRecord& record) {
  switch (record.kind) {
    case ActivityKind::kKernel:
      return "kernel '" + Demangled(record.name) + "'";
    case ActivityKind::kCopy:
      return "a copy of " + std::to_string(record.bytes) + " bytes";
    case ActivityKind::kFill:
      return "a fill of " + std::to_string(record.bytes) + " bytes";
    case ActivityKind::kJoin:
      return "a wait for another stream";
  }
  return "";
}

std::optional<std::string> WorkBetweenCalls(const ActivityLog& log) {
  for (const ActivityRecord& record : log.records) {
    if (record.kind == ActivityKind::kJoin || log.calls.empty()) continue;
    if (record.start_ns < log.calls.front().begin_ns) continue;  // preparations
    if (!BeganInACall(record, log.calls)) return NameOf(record) + " began after a call was over";
  }
  return std::nullopt;
}

bool Joins(const ActivityLog& log, const ActivityCall& call) {
  return std::any_of(log.records.begin(), log.records.end(), [&](const ActivityRecord& record) {
    return record.kind == ActivityKind::kJoin && record.stream == log.stream &&
           record.start_ns >= call.begin_ns && record.start_ns <= call.idle_ns;
  });
}

// The last record of each stream that began within the call.
std::map<uint32_t, const ActivityRecord*> LastOfStreams(const ActivityLog& log,
                                                        const ActivityCall& call) {
  std::map<uint32_t, const ActivityRecord*> last;
  for (const ActivityRecord& record : log.records) {
    if (record.kind == ActivityKind::kJoin) continue;
    if (record.start_ns < call.begin_ns || record.start_ns > call.idle_ns) continue;
    const ActivityRecord*& known = last[record.stream];
    if (known == nullptr || record.end_ns > known->end_ns) known = &record;
  }
  return last;
}

std::optional<std::string> UnjoinedStream(const ActivityLog& log) {
  if (log.stream == 0) return std::nullopt;  // not known
  for (const ActivityCall& call : log.calls) {
    const auto last = LastOfStreams(log, call);
    const auto own = last.find(log.stream);
    if (last.size() < 2 || own == last.end() || Joins(log, call)) continue;
    for (const auto& [stream, record] : last) {
      const bool outlasts = record->end_ns > own->second->end_ns + kSlackNs &&
                            record->end_ns > call.returned_ns + kSlackNs;
      if (outlasts) {
        return NameOf(*record) + " on stream " + std::to_string(stream) +
               " outlasts the call's stream, which does not wait for it";
      }
    }
  }
  return std::nullopt;
}

int64_t BusyNs(const ActivityLog& log) {
  int64_t busy_ns = 0, until_ns = 0;
  for (const ActivityRecord& record : log.records) {  // in order of start
    if (!BeganInACall(record, log.calls)) continue;
    busy_ns += std::max<int64_t>(0, record.end_ns - std::max(record.start_ns, until_ns));
    until_ns = std::max(until_ns, record.end_ns);
  }
  return busy_ns;
}

int64_t CountOf(const ActivityLog& log, ActivityKind kind) {
  return std::count_if(log.records.begin(), log.records.end(),
                       [kind](const ActivityRecord& record) { return record.kind == kind; });
}

std::string Summary(const ActivityLog& log, const ActivitySubject& subject) {
  std::string text = log.tracer + ": " + std::to_string(CountOf(log, ActivityKind::kKernel)) +
                     " kernels, " + std::to_string(CountOf(log, ActivityKind::kCopy)) +
                     " copies, " + std::to_string(CountOf(log, ActivityKind::kFill)) +
                     " fills in " + std::to_string(log.calls.size()) + " calls";
  if (const auto times = TimesPerCall(log)) {
    text += ", busy " + std::to_string(std::lround(times->busy_us)) + " of " +
            std::to_string(std::lround(times->wall_us)) + " us a call";
  }
  return subject.form == Form::kProgram ? text + " (the program's own process says so)" : text;
}

}  // namespace

std::optional<ActivityTimes> TimesPerCall(const ActivityLog& log) {
  if (log.calls.empty()) return std::nullopt;
  int64_t wall_ns = 0;
  for (const ActivityCall& call : log.calls) wall_ns += call.idle_ns - call.begin_ns;
  const double calls = static_cast<double>(log.calls.size()) * kNsPerUs;
  return ActivityTimes{static_cast<double>(BusyNs(log)) / calls,
                       static_cast<double>(wall_ns) / calls};
}

AuditFinding JudgeActivity(const ActivityLog& log, const ActivitySubject& subject) {
  if (!log.absent.empty()) return Absent(kActivity, log.absent);
  if (log.calls.empty()) return Absent(kActivity, "no call was recorded");
  if (const auto found = ForeignKernel(log, subject)) return Violated(kActivity, *found);
  if (const auto found = WorkBetweenCalls(log)) return Violated(kActivity, *found);
  if (const auto found = UnjoinedStream(log)) return Violated(kActivity, *found);
  if (log.records.empty()) return Absent(kActivity, log.tracer + " saw nothing on the device");
  return Clean(kActivity, Summary(log, subject));
}

}  // namespace warpsmith::audit
