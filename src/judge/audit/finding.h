// What one audit of a candidate came to.
#ifndef WARPSMITH_JUDGE_AUDIT_FINDING_H_
#define WARPSMITH_JUDGE_AUDIT_FINDING_H_

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/subprocess.h"
#include "core/verdict.h"

namespace warpsmith::audit {

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

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_FINDING_H_
