#include "judge/program_sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cuda/library.h"
#include "judge/audit/library_names.h"

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
  policy.limits = ProgramLimits();
  return policy;
}

}  // namespace

sandbox::Limits ProgramLimits() {
  // At L1 the user's other processes count, too, and compilers come and go with every core.
  constexpr int64_t kMostThreads = 2048, kMostOpenFiles = 1024;
  constexpr int64_t kMostFileBytes = int64_t{64} << 20;
  sandbox::Limits limits;
  limits.processes = kMostThreads;
  limits.open_files = kMostOpenFiles;
  limits.file_bytes = kMostFileBytes;
  limits.data_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 2;
  return limits;
}

Result<std::string> EnterProgramSandbox(const PeerStart& command, int socket) {
  if (LevelOf(command.sandbox) == sandbox::Level::kNone) {
    return std::string(sandbox::Name(sandbox::Level::kNone));
  }
  const sandbox::Reached reached = TRY(sandbox::EnterOrRefuse(PolicyOf(command, socket)));
  return std::string(sandbox::Name(reached.level));
}

std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow) {
  const bool allows_some = std::any_of(allow.begin(), allow.end(),
                                       [](const std::string& name) { return name != "dlopen"; });
  std::vector<std::string> hidden;
  for (const audit::LibraryFamily& family : audit::LibraryFamilies()) {
    // cuSPARSE and cuDNN, say, compile with it what they run.
    const bool serves_others = family.name == "nvrtc" && allows_some;
    if (serves_others || audit::Allows(allow, family.name)) continue;
    for (const std::string_view file : family.files) hidden.push_back(std::string(file) + "*");
  }
  return hidden;
}

}  // namespace warpsmith::judge
