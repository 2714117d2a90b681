// Seam: candidate -> artifact.
#ifndef WARPSMITH_CORE_COMPILER_H_
#define WARPSMITH_CORE_COMPILER_H_

#include <string>

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"

namespace warpsmith {

// Thread-safe: many threads compile at once.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // `architecture` as in "sm_90a". A candidate that does not compile is a CompileFailed; an Error
  // means the toolchain itself could not be used.
  virtual Result<CompileOutcome> Compile(const Candidate& candidate,
                                         const std::string& architecture) = 0;
};

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_COMPILER_H_
