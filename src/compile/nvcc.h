// nvcc, run on a folder of its own. Private to this folder.
#ifndef WARPSMITH_COMPILE_NVCC_H_
#define WARPSMITH_COMPILE_NVCC_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compilation.h"
#include "core/candidate.h"
#include "sandbox/sandbox.h"

namespace warpsmith::compile {

// --- What the compilers may touch while they work on a candidate: src/sandbox. Private to this
// folder.

// NVRTC: reads its libraries and the toolkit, writes nothing but the socket, starts nothing.
sandbox::Policy NvrtcPolicy(int socket);

// A folder for one run of nvcc: sources to read, and where it may write.
struct NvccFolder {
  explicit NvccFolder(const std::filesystem::path& whole)
      : sources(whole / "src"), scratch(whole / "tmp"), output(whole / "out") {}
  std::filesystem::path image() const { return output / "image"; }
  std::filesystem::path sources, scratch, output;
};

// nvcc is started by this program as kNvccSubcommand, which enters the sandbox and becomes nvcc.
std::vector<std::string> LaunchedCommand(const std::filesystem::path& launcher,
                                         const std::filesystem::path& folder,
                                         const std::vector<std::string>& command);

// What that ends with where nvcc could not be started. Statuses above it are a shell's.
inline constexpr int kCouldNotLaunch = 125;

// The first line of what a launched nvcc prints is how it was confined.
struct LaunchedOutput {
  bool launched = false;
  std::string unconfined;  // why there is no sandbox; empty: there is
  std::string rest;
};
LaunchedOutput ReadLaunched(std::string output);

// For Artifact.warnings: empty when L1 or more was reached.
std::string Unconfined(const sandbox::Reached& reached);

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
