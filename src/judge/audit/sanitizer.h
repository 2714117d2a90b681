// compute-sanitizer on a stand-alone run of the candidate (standalone/job.h).
#ifndef WARPSMITH_JUDGE_AUDIT_SANITIZER_H_
#define WARPSMITH_JUDGE_AUDIT_SANITIZER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "judge/audit/finding.h"
#include "judge/audit/sanitizer_text.h"

namespace warpsmith::audit {

struct Sanitizer {
  std::filesystem::path program;
  std::string version;  // "2025.3.1.0"
};
// `program` if given, else what is found in the toolkit's places and $PATH. kUnavailable, saying
// what to install, when it is not there or does not tell its version.
Result<Sanitizer> FindSanitizer(const std::filesystem::path& program = {});

struct SanitizerRequest {
  std::string_view check;                    // kMemcheck, kInitcheck or kRacecheck
  std::vector<std::string> standalone_argv;  // "warpsmith internal-solo DIR ..."
  std::filesystem::path dir;                 // its folder, for the proof that it came to its end
  std::chrono::milliseconds wall{180'000};
  // Not empty: this program starts tool and run inside its sandbox (standalone/confined.h).
  std::string confined_by;
  bool copies_in_bulk = false;  // its kernels write global memory by cp.async.bulk
};

// Runs the tool and judges what it said. Rejected: an error in a kernel. Everything that kept the
// tool from watching a whole run is Absent with the reason: no tool, another driver, a crash, a run
// that did not end, no summary. An Error is trouble of our own (no temporary folder).
Result<AuditFinding> RunSanitizer(const Sanitizer& sanitizer, const SanitizerRequest& request);

// What was seen of one run; RunSanitizer's judgement.
struct SanitizerRun {
  SanitizerText text;
  ProcessOutcome process;
  bool finished = false;  // the stand-alone run came to its end
};
AuditFinding JudgeSanitizerRun(const Sanitizer& sanitizer, const SanitizerRequest& request,
                               const SanitizerRun& run);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_SANITIZER_H_
