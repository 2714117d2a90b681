// What a compiled candidate may hold, found in the bytes of its image: instructions, variables, and
// what it takes from libraries.
//
// Which tensor-core instructions a declared precision admits. What the numbers say is the judge's
// matter; this audit finds what was computed with, whether or not it showed.
#ifndef WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_
#define WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/launch_plan.h"
#include "core/verdict.h"
#include "judge/audit/audit.h"

namespace warpsmith::audit {

// What a tensor-core instruction multiplies.
enum class ProductInput : uint8_t { kF64, kTF32, kF16, kBF16, kF8, kF4, kInteger, kBit };

struct TensorProduct {
  ProductInput input = ProductInput::kF16;
  bool sums_in_f16 = false;
};

// "HMMA.16816.F32.BF16", "HGMMA.64x128x16.F16", "QGMMA.64x64x32.F32.E4M3.E4M3", "UTCQMMA", ... as
// SASS of 7.0 and later writes them; nullopt for what multiplies no matrices.
std::optional<TensorProduct> TensorProductOf(std::string_view opcode);

// `precision` as in the task: "f64", "f32", "tf32", "f16", "bf16", "f8"; "": no policy. Each admits
// its own inputs and wider ones; "f16" and "bf16" want sums in f32; below "f8" is Rejected too.
// Absent when there was no disassembler, or for a word that is none of these.
AuditFinding AuditOpcodes(const std::map<std::string, int64_t>& opcodes,
                          std::string_view precision);

// --- What a kernel's cubin may not hold, whatever it computes. Read from its own bytes: no
// disassembler is needed, and nothing runs.

// "programmatic-launch": a kernel that the plan launches programmatically, before what lies ahead
// of it has ended, has no instruction that waits for it (griddepcontrol.wait, ACQBULK in SASS
// of 9.0 to 12.0). "device-heap": a kernel calls the device's malloc, whose memory outlives the
// launch and is seen by no comparison. Nothing is said of an image that is no ELF file: it will not
// load.
std::optional<Rejected> RefuseImage(const LaunchPlan& plan, std::string_view image);

// What the driver would refuse: a kernel of the plan that the image lacks, or that takes another
// number of parameters. Nothing is said of an image that is no ELF file.
std::optional<std::string> PlanMismatch(const LaunchPlan& plan, std::string_view image);

// --- The form `program`'s shared library: what it takes from other libraries, and what it names.

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

#endif  // WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_
