// The compilers that are here, what they are called in keys and evidence, and what they can target.
#ifndef WARPSMITH_COMPILE_TOOLCHAIN_H_
#define WARPSMITH_COMPILE_TOOLCHAIN_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"

namespace warpsmith::compile {

struct Toolchain {
  std::string name;                // "nvrtc" or "nvcc"
  std::string version;             // "nvcc 13.0.88", "nvrtc 13.0": for evidence
  std::string identity;            // the version and what else tells two builds apart: for keys
  std::filesystem::path program;   // nvcc's; empty for NVRTC
  std::vector<int> architectures;  // 80, 90, 100 ...
};

// Found once per process; the answer is kept. kBadInput for a name we do not know, kUnavailable
// when it is not here.
Result<const Toolchain*> FindToolchain(std::string_view name);

// "sm_90a" must be one that the toolchain knows: kBadInput lists those it does.
Status CheckArchitecture(const Toolchain& toolchain, std::string_view architecture);

// Every flag the compiler gets, in order: ours, then the candidate's.
std::vector<std::string> CompileFlags(const Candidate& candidate, std::string_view architecture);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_TOOLCHAIN_H_
