// nvcc, run on a folder of its own. Private to this folder.
#ifndef WARPSMITH_COMPILE_NVCC_H_
#define WARPSMITH_COMPILE_NVCC_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compilation.h"
#include "core/candidate.h"

namespace warpsmith::compile {

// What of a program is compiled, and how it is linked.

// The entry, then every other source with a compiler's ending that no source includes.
std::vector<std::string> ProgramUnits(const Compilation& compilation);

// Started by `launcher`, this program, which locks nvcc into a folder of its own first. A cubin for
// the form `kernel`, a shared library for `program`. Paths in the log are relative to
// the candidate, so that equal candidates give equal logs.
Result<Compiled> CompileWithNvcc(const std::filesystem::path& launcher,
                                 const std::filesystem::path& nvcc, const Compilation& compilation,
                                 Form form, const Limits& limits);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_NVCC_H_
