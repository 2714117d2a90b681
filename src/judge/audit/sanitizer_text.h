// Reading what compute-sanitizer prints (memcheck, initcheck, racecheck of CUDA 12 and 13). A pure
// function over any text: hostile output is read to its end and never believed beyond its shape.
// https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html
#ifndef WARPSMITH_JUDGE_AUDIT_SANITIZER_TEXT_H_
#define WARPSMITH_JUDGE_AUDIT_SANITIZER_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith::audit {

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

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_SANITIZER_TEXT_H_
