// The form `program`'s shared library: what it takes from other libraries, and what it names.
#ifndef WARPSMITH_JUDGE_AUDIT_IMPORTS_H_
#define WARPSMITH_JUDGE_AUDIT_IMPORTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "judge/audit/finding.h"

namespace warpsmith::audit {

// Libraries that do a task's work for a program, and how each shows: by the file it is loaded from,
// by the names of its kernels. A task allows some by name (`allow = ["cublas"]`).
struct LibraryFamily {
  std::string_view name;                  // as `allow` names it
  std::vector<std::string_view> files;    // beginnings of file names: "libcublas"
  std::vector<std::string_view> kernels;  // parts of demangled kernel names
};
const std::vector<LibraryFamily>& LibraryFamilies();

bool Allows(const std::vector<std::string>& allow, std::string_view name);

// The family that a file ("libcublasLt.so.13", a path too) or a kernel belongs to; null: none.
const LibraryFamily* FamilyOfFile(std::string_view file);
const LibraryFamily* FamilyOfKernel(std::string_view demangled);

// As C++ names it; the name itself when it is not mangled.
std::string Demangled(const std::string& name);

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
