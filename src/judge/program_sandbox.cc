#include "judge/program_sandbox.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cuda/library.h"
#include "sandbox/sandbox.h"

namespace warpsmith::judge {
namespace {

namespace fs = std::filesystem;

sandbox::Level LevelOf(const std::string& name) {
  if (name == sandbox::Name(sandbox::Level::kL2)) return sandbox::Level::kL2;
  if (name == sandbox::Name(sandbox::Level::kL1)) return sandbox::Level::kL1;
  return sandbox::Level::kNone;
}

// Where the toolkit's libraries may be, under every name.
std::vector<fs::path> ToolkitFolders() {
  std::vector<fs::path> folders;
  for (const std::string& candidate :
       cuda::LibraryCandidates("libcudart.so.13", cuda::RootsFromEnvironment())) {
    const fs::path folder = fs::path(candidate).parent_path();
    if (!folder.is_absolute()) continue;
    folders.push_back(folder);
    std::error_code absent;
    const fs::path real = fs::canonical(folder, absent);
    if (!absent && real != folder) folders.push_back(real);
  }
  return folders;
}

sandbox::Policy PolicyOf(const PeerStart& command, int socket) {
  sandbox::Policy policy;
  policy.wanted = LevelOf(command.sandbox);
  sandbox::AllowLibraries(&policy);
  sandbox::AllowGpu(&policy);
  for (const fs::path& folder : ToolkitFolders()) policy.executable.push_back(folder);
  policy.hidden = command.hidden;
  policy.descriptors = {socket};
  return policy;
}

}  // namespace

Result<std::string> EnterProgramSandbox(const PeerStart& command, int socket) {
  if (LevelOf(command.sandbox) == sandbox::Level::kNone) {
    return std::string(sandbox::Name(sandbox::Level::kNone));
  }
  const sandbox::Reached reached = TRY(sandbox::EnterOrRefuse(PolicyOf(command, socket)));
  return std::string(sandbox::Name(reached.level));
}

std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow) {
  static const std::vector<std::string> kLibraries = {
      "cublas", "cublasLt", "cudnn",   "cufft", "cusparse", "cusparseLt", "cusolver",
      "curand", "cutensor", "nvinfer", "npp",   "torch",    "cutlass"};
  std::vector<std::string> hidden;
  for (const std::string& library : kLibraries) {
    const bool allowed = std::any_of(allow.begin(), allow.end(), [&](const std::string& name) {
      return library.starts_with(name);  // cublas brings cublasLt
    });
    if (!allowed) hidden.push_back("lib" + library + "*");
  }
  // A pattern of the shorter name would hide the longer, allowed one.
  std::erase_if(hidden, [&](const std::string& pattern) {
    return std::any_of(allow.begin(), allow.end(), [&](const std::string& name) {
      return ("lib" + name).starts_with(pattern.substr(0, pattern.size() - 1));
    });
  });
  return hidden;
}

}  // namespace warpsmith::judge
