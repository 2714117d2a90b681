// Libraries that do a task's work for a program, and how each shows: by the file it is loaded from,
// by the names of its kernels. A task allows some by name (`allow = ["cublas"]`).
#ifndef WARPSMITH_JUDGE_AUDIT_LIBRARY_NAMES_H_
#define WARPSMITH_JUDGE_AUDIT_LIBRARY_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::audit {

struct LibraryFamily {
  std::string_view name;                  // as `allow` names it
  std::vector<std::string_view> files;    // beginnings of file names: "libcublas"
  std::vector<std::string_view> kernels;  // parts of demangled kernel names
};
const std::vector<LibraryFamily>& LibraryFamilies();

bool Allows(const std::vector<std::string>& allow, std::string_view name);

// What every program may need: the C and C++ libraries, the CUDA runtime and driver.
bool IsOfEveryProgram(std::string_view file);

// The family that a file ("libcublasLt.so.13", a path too) or a kernel belongs to; null: none.
const LibraryFamily* FamilyOfFile(std::string_view file);
const LibraryFamily* FamilyOfKernel(std::string_view demangled);
// The first family that is named, as a file, anywhere in `bytes` and is not allowed.
const LibraryFamily* ForbiddenIn(std::string_view bytes, const std::vector<std::string>& allow);

// As C++ names it; the name itself when it is not mangled.
std::string Demangled(const std::string& name);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_LIBRARY_NAMES_H_
