// The form `program`'s shared library: what it takes from other libraries, and what it names.
#ifndef WARPSMITH_JUDGE_AUDIT_IMPORTS_H_
#define WARPSMITH_JUDGE_AUDIT_IMPORTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "judge/audit/finding.h"

namespace warpsmith::audit {

// Rejected: a library that the task does not allow, as a dependency or named in the image (what
// dlopen would be given); calls that load libraries (`allow = ["dlopen"]` permits them) or device
// code made elsewhere (`allow = ["nvrtc"]`). A program has no honest need of either, since we link
// it with the shared CUDA runtime. Absent where there was none to link with: the static runtime
// makes the same calls itself.
//
// Calls that start processes or open sockets are told in the report: the sandbox refuses them.
AuditFinding AuditImports(std::string_view image, const std::vector<std::string>& allow);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_IMPORTS_H_
