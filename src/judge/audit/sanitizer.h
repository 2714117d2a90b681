// compute-sanitizer on a stand-alone run of the candidate (judge/standalone/run_folder.h).
#ifndef WARPSMITH_JUDGE_AUDIT_SANITIZER_H_
#define WARPSMITH_JUDGE_AUDIT_SANITIZER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "judge/audit/audit.h"

namespace warpsmith::audit {

// Reading what compute-sanitizer prints (memcheck, initcheck, racecheck of CUDA 12 and 13). A pure
// function over any text: hostile output is read to its end and never believed beyond its shape.
// https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html

// One report of the tool.
struct SanitizerError {
  std::string kind;    // "Invalid __global__ write of size 4 bytes", "Race reported between ..."
  std::string kernel;  // "scale+0x90"; empty when it was not told
  std::string place;   // "thread (0,0,0) in block (1,0,0)"
  std::string access;  // "Access at 0x7f00 is out of bounds"
};
std::string Describe(const SanitizerError& error);  // one line

struct RaceSummary {
  int64_t hazards = 0, errors = 0, warnings = 0;
};

struct SanitizerText {
  bool started = false;                 // the tool's banner is there
  std::optional<int64_t> errors;        // of ERROR SUMMARY: the largest where it says several
  std::optional<RaceSummary> races;     // of RACECHECK SUMMARY
  std::optional<SanitizerError> first;  // of the kernels' own; for races, the first of level error
  std::string api_error;  // "Program hit CUDA_ERROR_...", the first: a call of the host's failed
  std::string inability;  // the tool's words where it could not watch; empty: it says nothing
  bool target_failed = false;  // the watched program ended with an error
};
SanitizerText ReadSanitizerText(std::string_view text);

// "2025.3.1.0" of `compute-sanitizer --version`; empty when it is not there.
std::string ReadSanitizerVersion(std::string_view text);

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
  // Not empty: this program starts tool and run inside its sandbox (judge/standalone/standalone.h).
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
