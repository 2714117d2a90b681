// All audits of one candidate. docs/judge-protocol.md.
#ifndef WARPSMITH_JUDGE_AUDIT_AUDIT_H_
#define WARPSMITH_JUDGE_AUDIT_AUDIT_H_

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/protocol.h"
#include "core/task.h"
#include "core/verdict.h"
#include "judge/audit/finding.h"

namespace warpsmith::audit {

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
  // Programs, which are hostile, run confined by standalone_argv[0] (judge/standalone/confined.h).
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

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_AUDIT_H_
