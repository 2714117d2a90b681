// What the compilers may touch while they work on a candidate: src/sandbox. Private to this folder.
#ifndef WARPSMITH_COMPILE_CONFINEMENT_H_
#define WARPSMITH_COMPILE_CONFINEMENT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compilation.h"
#include "sandbox/sandbox.h"

namespace warpsmith::compile {

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

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CONFINEMENT_H_
