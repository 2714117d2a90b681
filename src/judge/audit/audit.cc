#include "judge/audit/audit.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "base/subprocess.h"
#include "base/utf8.h"
#include "compile/opcodes.h"
#include "judge/audit/activity.h"
#include "judge/audit/embedded_binary.h"
#include "judge/audit/finding.h"
#include "judge/audit/imports.h"
#include "judge/audit/opcode_policy.h"
#include "judge/audit/sanitizer.h"
#include "judge/standalone/activity_log.h"
#include "judge/standalone/confined.h"
#include "judge/standalone/job.h"
#include "sandbox/sandbox.h"

namespace warpsmith::audit {
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

}  // namespace warpsmith::audit
