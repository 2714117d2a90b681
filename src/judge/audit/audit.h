// All audits of one candidate: what each finds, and what the device did while it ran alone.
// docs/judge-protocol.md.
#ifndef WARPSMITH_JUDGE_AUDIT_AUDIT_H_
#define WARPSMITH_JUDGE_AUDIT_AUDIT_H_

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/protocol.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/standalone/run_folder.h"

namespace warpsmith::audit {

// --- What one audit of a candidate came to.

// A report says clean, or that the tool was absent or unable and why; a Rejected names the audit as
// its rule and what was found as its detail.
using AuditFinding = std::variant<AuditReport, Rejected>;

inline constexpr std::string_view kMemcheck = "memcheck";
inline constexpr std::string_view kInitcheck = "initcheck";
inline constexpr std::string_view kRacecheck = "racecheck";
inline constexpr std::string_view kOpcodes = "opcodes";
inline constexpr std::string_view kImports = "imports";
inline constexpr std::string_view kEmbeddedBinary = "embedded-binary";
inline constexpr std::string_view kActivity = "activity";

inline AuditFinding Clean(std::string_view audit, std::string detail) {
  return AuditReport{std::string(audit), AuditStatus::kClean, std::move(detail)};
}
inline AuditFinding Absent(std::string_view audit, std::string why) {
  return AuditReport{std::string(audit), AuditStatus::kAbsent, std::move(why)};
}
inline AuditFinding Violated(std::string_view audit, std::string found) {
  return Rejected{std::string(audit), std::move(found)};
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// How a process ended that an audit had started, in words for a report.
// "no end in time", or "status 1, 'the first line of its output'". Output is a candidate's to
// choose: no more than 300 bytes of it.
std::string HowItEnded(const ProcessOutcome& process);

// Findings that need not be made twice, in the folder `root`. Thread-safe, and safe between
// processes. The key is of everything that decides the finding.
std::string FindingKey(const std::vector<std::string>& parts);
// Nothing for a missing, damaged or foreign entry.
std::optional<AuditFinding> FindFinding(const std::filesystem::path& root, const std::string& key);
// Clean and Rejected ones are kept; absence may pass, so it is not.
Status StoreFinding(const std::filesystem::path& root, const std::string& key,
                    const AuditFinding& finding);

struct AuditRequest {
  Task task;
  Workload workload;  // a small one: sanitizers are a hundred times slower than the kernel
  Candidate candidate;
  Artifact artifact;
  Level level = Level::kCertified;  // kScreened: only what reads files (no process is started)
  std::vector<std::string> standalone_argv;  // {"/usr/bin/warpsmith", "internal-solo"}
  // Programs, which are hostile, run confined by standalone_argv[0] (judge/standalone/standalone.h).
  bool sandboxed = true;
  std::string device_uuid;          // empty: the first device
  std::filesystem::path inputs;     // folder of raw inputs by tensor name; empty: generated ones
  std::filesystem::path sanitizer;  // compute-sanitizer; empty: looked for
  std::filesystem::path cache;      // of findings; empty: the user's
  std::chrono::milliseconds tool_wall{180'000};  // of each tool
};

// Stops at the first thing that rejects. Otherwise one report an audit, absent tools named: nothing
// is left out silently.
struct AuditOutcome {
  std::vector<AuditReport> reports;
  std::optional<Rejected> rejected;
};

// Uses the device (certified): nothing may be timed beside it. An Error is trouble of our own.
Result<AuditOutcome> AuditCandidate(const AuditRequest& request);

// One of the sanitizers' checks alone: kMemcheck, kInitcheck or kRacecheck. Absent where there is
// no compute-sanitizer.
Result<AuditFinding> Sanitize(const AuditRequest& request, std::string_view check);

// Whether its kernels write global memory by cp.async.bulk (TMA stores and reductions).
bool CopiesInBulk(const Candidate& candidate, const Artifact& artifact);

// --- What the device did while a candidate ran alone, held against what it was to do.
//
// The records come from inside the candidate's process (judge/standalone/run_folder.h). For a
// program they are advice: absence of a finding proves nothing, so the report says whose word it
// is.

struct ActivitySubject {
  Form form = Form::kKernel;
  std::vector<std::string> own_kernels;  // as compiled, mangled; empty: not known
  std::vector<std::string> allow;        // the task's
};

// Rejected: a kernel of a library that the task does not allow; a kernel that is not the
// candidate's own, where those are known and the task allows no library; work that began after a
// call was over; work on another stream that outlasts everything on the call's own, after the call
// returned.
AuditFinding JudgeActivity(const standalone::ActivityLog& log, const ActivitySubject& subject);

// Time in which at least one record was running, per call; nullopt without calls. Wall time from a
// call's begin to the idle device beside it.
struct ActivityTimes {
  double busy_us = 0, wall_us = 0;
};
std::optional<ActivityTimes> TimesPerCall(const standalone::ActivityLog& log);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_AUDIT_H_
