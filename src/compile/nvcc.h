// nvcc, run on a folder of its own. Private to this folder.
#ifndef WARPSMITH_COMPILE_NVCC_H_
#define WARPSMITH_COMPILE_NVCC_H_

#include <filesystem>

#include "base/result.h"
#include "compile/compilation.h"
#include "core/candidate.h"

namespace warpsmith::compile {

// Started by `launcher`, this program, which locks nvcc into a folder of its own first. A cubin for
// the form `kernel`, a shared library for `program`. Paths in the log are relative to
// the candidate, so that equal candidates give equal logs.
Result<Compiled> CompileWithNvcc(const std::filesystem::path& launcher,
                                 const std::filesystem::path& nvcc, const Compilation& compilation,
                                 Form form, const Limits& limits);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_NVCC_H_
